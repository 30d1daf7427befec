//! The words for operations in sentences.

use crate::figures::group::RoleRow;
use crate::figures::lists::list;

/// "LMDB *reads* ... times as many *keys* per second".
pub(super) struct Words {
    pub(super) verb: &'static str,
    pub(super) noun: &'static str,
}

/// The words for a load.
pub(super) const LOADS: Words = Words { verb: "loads", noun: "records" };

impl Words {
    /// The words for a mix, as a role's row names it: `get`, `get+update`.
    pub(super) fn for_mix(mix: &str) -> Self {
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

/// `gets/s`; for a mix `ops/s`.
pub(super) fn per_second(role: &RoleRow) -> String {
    if role.is_mix() { "ops/s".to_owned() } else { format!("{}/s", format_operations(&role.mix)) }
}

/// `gets`.
pub(super) fn format_operations(op: &str) -> String {
    format!("{op}s")
}

/// `4 readers and 1 writer`.
pub(super) fn threads(roles: &[RoleRow]) -> String {
    let role_text = |role: &RoleRow| {
        let name = match role.threads {
            1 => role.role.strip_suffix('s').unwrap_or(&role.role),
            _ => &role.role,
        };
        format!("{} {name}", role.threads)
    };
    list(&roles.iter().map(role_text).collect::<Vec<_>>())
}
