//! Assigns runs to hosts: runs of one host have the same name and machine identity. Machines with
//! the same identity (clones, containers) differ by name; machines with the same name differ by
//! identity, where their records have one.

use super::Member;
use crate::answers::trend::LeftOut;
use crate::figures::lists::unique;
use std::cmp::Reverse;

/// The newest run of each host, by name. Adds the others to `left_out`, with the reason.
pub(super) fn hosts(mut members: Vec<Member>, left_out: &mut Vec<LeftOut>) -> Vec<Member> {
    for hostname in unique(members.iter().map(|member| member.entry.hostname.clone())) {
        name(&hostname, &mut members, left_out);
    }
    members.sort_by_cached_key(|member| {
        let Member { entry, name, .. } = member;
        let newest_first = Reverse((entry.started_unix_ns, entry.run.clone()));
        (entry.hostname.clone(), name.clone(), newest_first)
    });
    let mut hosts: Vec<Member> = Vec::new();
    for member in members {
        match hosts.last().filter(|newer| newer.name == member.name) {
            Some(newer) => {
                let why = format!("{} has a newer run: {}", newer.name, newer.entry.run);
                left_out.push(LeftOut { run: member.entry.run, reason: why });
            }
            None => hosts.push(member),
        }
    }
    hosts
}

/// Numbers the machines that share a name, in the order of their identities: the order of the runs
/// does not matter.
fn name(hostname: &str, members: &mut Vec<Member>, left_out: &mut Vec<LeftOut>) {
    let has_name = |member: &Member| member.entry.hostname == hostname;
    let namesakes = members.iter().filter(|member| has_name(member));
    let mut machines = unique(namesakes.filter_map(|member| member.machine_id.clone()));
    if machines.len() < 2 {
        return;
    }
    machines.sort();
    members.retain_mut(|member| {
        if !has_name(member) {
            return true;
        }
        let index_of = |id: &String| machines.iter().position(|other| other == id);
        let Some(index) = member.machine_id.as_ref().and_then(index_of) else {
            let why = format!(
                "{} machines are called {hostname}, and its record has no machine id",
                machines.len()
            );
            left_out.push(LeftOut { run: member.entry.run.clone(), reason: why });
            return false;
        };
        member.name = format!("{hostname} ({})", index + 1);
        true
    });
}
