//! What an operation is called in a sentence.

use crate::group::RoleRow;
use crate::lists::list;

/// "LMDB *reads* ... times as many *keys* a second".
pub(super) struct Words {
    pub(super) verb: &'static str,
    pub(super) noun: &'static str,
}

/// A load.
pub(super) const LOADS: Words = Words { verb: "loads", noun: "records" };

impl Words {
    /// Those of a mix, as a role's row names it: `get`, `get+update`.
    pub(super) fn of(mix: &str) -> Self {
        let (verb, noun) = match mix {
            "get" => ("reads", "keys"),
            "insert" => ("inserts", "records"),
            "update" => ("writes", "records"),
            "delete" => ("deletes", "records"),
            "scan" => ("scans", "ranges"),
            "multiget" => ("looks up", "groups of keys"),
            "rmw" => ("reads and rewrites", "records"),
            "batch" => ("writes", "batches"),
            _ => ("does", "operations"),
        };
        Self { verb, noun }
    }
}

/// `4 readers and 1 writer`.
pub(super) fn threads(roles: &[RoleRow]) -> String {
    let one = |role: &RoleRow| {
        let name = match role.threads {
            1 => role.role.strip_suffix('s').unwrap_or(&role.role),
            _ => &role.role,
        };
        format!("{} {name}", role.threads)
    };
    list(&roles.iter().map(one).collect::<Vec<_>>())
}
