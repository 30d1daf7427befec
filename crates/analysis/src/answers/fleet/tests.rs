//! A fleet of the fixture's machine, with the figures that each test needs.

use super::*;
use crate::fixture::Fixture;

const SLOW: &str = "LMDB t1, readers: ops_per_s";

/// Hosts whose `readers` ran at these rates.
fn fleet_of(rates: &[f64]) -> Vec<Member> {
    let member = |(number, rate): (usize, &f64)| {
        let mut member = Member::from_summary(&Fixture::new().summary()).unwrap();
        let entry = &mut member.entry;
        entry.hostname = format!("n{number:02}");
        member.name.clone_from(&entry.hostname);
        entry.run = format!("2026-11-24T10-15-02Z_fixture_{number:04}");
        entry.series.retain(|series| {
            series.role.as_deref() == Some("readers") && series.case.starts_with("LMDB t1")
        });
        assert_eq!(entry.series.len(), 1);
        entry.series[0].figures.retain(|name, _| name == "ops_per_s");
        entry.series[0].figures.insert("ops_per_s".to_owned(), *rate);
        member
    };
    rates.iter().enumerate().map(member).collect()
}

/// Rates that differ by at most 1.6 %.
fn alike(hosts: usize) -> Vec<f64> {
    (0..hosts).map(|at| 1000.0 + [2.0, -5.0, 8.0, -8.0, 0.0][at % 5]).collect()
}

fn set(member: &mut Member, what: &str, value: &str) {
    member.facts.retain(|(other, _)| other != what);
    member.facts.push((what.to_owned(), value.to_owned()));
}

fn compare(members: Vec<Member>) -> Fleet {
    Fleet::from_members(members, Vec::new(), &FigureChoice::Usual).unwrap()
}

#[test]
fn slow_hosts_are_named_with_what_only_they_have() {
    let mut rates = alike(10);
    (rates[3], rates[7]) = (700.0, 705.0);
    let mut members = fleet_of(&rates);
    for (at, member) in members.iter_mut().enumerate() {
        let slow = at == 3 || at == 7;
        set(member, "drive's firmware", if slow { "1.1" } else { "1.2" });
        set(member, "governor", if at == 3 || at == 4 { "powersave" } else { "performance" });
        set(member, "memory", &format!("{at} GiB"));
    }
    let fleet = compare(members);
    let [spread] = &fleet.figures[..] else { panic!("{:?}", fleet.figures) };
    assert!((spread.judgement.median - 997.5).abs() < 5.0 && spread.values.len() == 10);
    let apart: Vec<_> =
        spread.judgement.outliers.iter().map(|one| (one.host, one.better)).collect();
    assert_eq!(apart, [(3, false), (7, false)]);
    assert_eq!(spread.name(), SLOW);
    let facts: Vec<&str> = fleet.facts.iter().map(|fact| fact.name.as_str()).collect();
    assert_eq!(facts, ["drive's firmware", "governor", "memory"]);
    assert_eq!(fleet.facts[2].most, None, "each host has its own");
    for apart in &fleet.outlier_hosts {
        assert_eq!((apart.worse.as_slice(), apart.better.as_slice()), (&[0][..], &[][..]));
        assert_eq!(apart.only_apart, [0], "a fast host has the same governor as a slow one");
    }
    assert_eq!(fleet.hosts[3].name, "n03");
}

#[test]
fn hosts_that_are_alike_and_hosts_that_are_few_are_no_outliers() {
    assert_eq!(compare(fleet_of(&alike(20))).outlier_hosts, []);
    let few = compare(fleet_of(&[1000.0, 1001.0, 999.0, 400.0]));
    assert_eq!((few.outlier_hosts.len(), few.hosts.len()), (0, 4));
    // A smaller difference than between two runs of one program.
    let mut rates = vec![1000.0; 12];
    rates[5] = 1004.0;
    assert_eq!(compare(fleet_of(&rates)).outlier_hosts, []);
    rates[5] = 1040.0;
    assert!(compare(fleet_of(&rates)).figures[0].judgement.outliers[0].better);
}

#[test]
fn of_a_host_the_newest_run_counts_and_other_suites_take_no_part() {
    let mut members = fleet_of(&alike(6));
    call(&mut members[1], "n00", None);
    members[1].entry.started_unix_ns += 1;
    members[2].entry.suite = "other".to_owned();
    let void = LeftOut { run: "r".to_owned(), reason: "its figures are void".to_owned() };
    let fleet = Fleet::from_members(members, vec![void], &FigureChoice::Usual).unwrap();
    let hosts: Vec<&str> = fleet.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(hosts, ["n00", "n03", "n04", "n05"]);
    assert!(fleet.hosts[0].run.ends_with("0001"));
    let reasons: Vec<&str> = fleet.left_out.iter().map(|run| run.reason.as_str()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert_eq!(reasons[1], "its suite is other, the first run's fixture");
    assert!(reasons[2].starts_with("n00 has a newer run: "), "{reasons:?}");
}

fn call(member: &mut Member, name: &str, machine: Option<&str>) {
    member.entry.hostname = name.to_owned();
    member.name = name.to_owned();
    member.machine_id = machine.map(str::to_owned);
}

/// By host: its name and the number of its run.
fn runs_of(fleet: &Fleet) -> Vec<(&str, &str)> {
    fleet.hosts.iter().map(|host| (host.name.as_str(), &host.run[host.run.len() - 1..])).collect()
}

#[test]
fn machines_of_one_name_are_several_hosts_and_machines_of_one_identity_too() {
    let mut members = fleet_of(&alike(7));
    call(&mut members[0], "db", Some("b"));
    call(&mut members[1], "db", Some("a"));
    call(&mut members[2], "db", Some("b"));
    call(&mut members[3], "db", None);
    // Clones of one machine, and an older record without a machine id.
    call(&mut members[4], "web-1", Some("a"));
    call(&mut members[5], "web-2", Some("a"));
    call(&mut members[6], "web-2", None);
    members[0].entry.started_unix_ns += 1;
    members[5].entry.started_unix_ns += 1;
    let expected = [("db (1)", "1"), ("db (2)", "0"), ("web-1", "4"), ("web-2", "5")];
    let fleet = compare(members.clone());
    assert_eq!(runs_of(&fleet), expected);
    let hosts: Vec<_> = fleet.hosts.iter().map(|host| host.hostname.as_str()).collect();
    assert_eq!(hosts, ["db", "db", "web-1", "web-2"]);
    let reasons: Vec<&str> = fleet.left_out.iter().map(|run| run.reason.as_str()).collect();
    let [unknown, db, web] = reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(unknown, "2 machines are called db, and its record has no machine id");
    assert!(db.starts_with("db (2) has a newer run: "), "{db}");
    assert!(web.starts_with("web-2 has a newer run: "), "{web}");
    // The order of the runs does not matter.
    members.reverse();
    assert_eq!(runs_of(&compare(members)), expected);
}

#[test]
fn a_case_that_a_host_lacks_is_named() {
    let mut members = fleet_of(&alike(6));
    let mut other = members[0].entry.series[0].clone();
    other.key = "another".to_owned();
    other.case = "LMDB t9".to_owned();
    members[4].entry.series.push(other);
    let fleet = compare(members);
    let missing: Vec<_> =
        fleet.missing().into_iter().map(|(host, case)| (host.name.as_str(), case)).collect();
    assert_eq!(missing.len(), 5);
    assert_eq!(missing[0], ("n00", "LMDB t9"));
    assert!(Fleet::from_members(Vec::new(), Vec::new(), &FigureChoice::Usual).is_none());
}
