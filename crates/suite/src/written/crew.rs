//! `[crew]` as typed: several processes, on one machine or many, that drive one server together.

use crate::written::read::{At, table};
use kvdyno_record::crew::{Crew, CrewHost};
use schemars::JsonSchema;

/// The default command that starts the ranks. Ranks are not bound to processors, because workers
/// would inherit the binding. They yield while they wait, and use no shared memory, because its
/// files would outlive killed ranks.
const LAUNCH: &str = "mpirun --host {hosts} -n {ranks} --stdin 0 --bind-to none \
                      --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self \
                      --allow-run-as-root";

/// Processes that drive one server together. Each is a rank with its share of all threads.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Crew")]
pub(crate) struct CrewTable {
    /// The hosts with their numbers of ranks: `["localhost:4"]`, `["a", "b:2"]`. The first host is
    /// this machine. At least 2 ranks.
    #[schemars(length(min = 1))]
    pub(crate) hosts: At<Vec<At<String>>>,
    /// The command that starts the ranks. kvdyno replaces `{hosts}` and `{ranks}` and splits it at
    /// spaces. Default: `mpirun` of `OpenMPI`, unbound, over TCP.
    pub(crate) launch: Option<At<String>>,
}

table!(CrewTable, "[crew]": hosts launch);

impl CrewTable {
    /// Returns the crew for the plan; invalid hosts, already reported, are left out.
    pub(crate) fn to_crew(&self) -> Crew {
        let hosts: Vec<CrewHost> = self.hosts.iter().filter_map(|host| parse_host(host)).collect();
        let each = hosts.iter().map(|host| format!("{}:{}", host.name, host.ranks));
        let (list, launch) = (each.collect::<Vec<_>>().join(","), self.launch());
        let mut crew = Crew { hosts, launch: Vec::new() };
        let ranks = crew.ranks().to_string();
        let words = launch.split_whitespace();
        let filled = words.map(|word| word.replace("{hosts}", &list).replace("{ranks}", &ranks));
        crew.launch = filled.collect();
        crew
    }

    fn launch(&self) -> &str {
        self.launch.as_ref().map_or(LAUNCH, |launch| launch.as_str())
    }
}

/// Parses a host with its number of ranks: `node7`, `node7:4`, `10.0.0.7:4`.
pub(crate) fn parse_host(text: &str) -> Option<CrewHost> {
    let (name, ranks) = match text.split_once(':') {
        Some((name, ranks)) => (name, ranks.parse().ok().filter(|ranks| *ranks > 0)?),
        None => (text, 1),
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = name.chars().all(letter) && name.starts_with(|c| letter(c) && c != '-');
    is_name.then(|| CrewHost { name: name.to_owned(), ranks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_with_a_number() {
        let host = |name: &str, ranks| Some(CrewHost { name: name.to_owned(), ranks });
        assert_eq!(parse_host("node7"), host("node7", 1));
        assert_eq!(parse_host("10.77.0.1:16"), host("10.77.0.1", 16));
        for wrong in ["", ":4", "a:0", "a:x", "a b", "-n", "a,b", "a;b", "fe80::1", "a:1:2"] {
            assert_eq!(parse_host(wrong), None, "{wrong}");
        }
    }
}
