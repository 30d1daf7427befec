//! Which runs are one host's: those of one name and one machine. Machines that share an identity,
//! as clones and containers may, are told apart by their names, and machines of one name by their
//! identities, where their records have any.

use super::Member;
use crate::lists::unique;
use crate::trend::LeftOut;
use std::cmp::Reverse;

/// The newest run of each host, by name; why others take no part.
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
                left_out.push(LeftOut { run: member.entry.run, why });
            }
            None => hosts.push(member),
        }
    }
    hosts
}

/// Where several machines have a name, each gets a number with it: by their identities, so that
/// the order of the runs decides nothing.
fn name(hostname: &str, members: &mut Vec<Member>, left_out: &mut Vec<LeftOut>) {
    let its_own = |member: &Member| member.entry.hostname == hostname;
    let called = members.iter().filter(|member| its_own(member));
    let mut machines = unique(called.filter_map(|member| member.machine_id.clone()));
    if machines.len() < 2 {
        return;
    }
    machines.sort();
    members.retain_mut(|member| {
        if !its_own(member) {
            return true;
        }
        let place = |id: &String| machines.iter().position(|other| other == id);
        let Some(place) = member.machine_id.as_ref().and_then(place) else {
            let why = format!(
                "{} machines are called {hostname}, and its record does not say whose it is",
                machines.len()
            );
            left_out.push(LeftOut { run: member.entry.run.clone(), why });
            return false;
        };
        member.name = format!("{hostname} ({})", place + 1);
        true
    });
}
