//! Checks of the studies as shipped: derived figures are compared with their sources.

use super::published::{Study, Written};
use super::{FILES, StudyComparison, TableKind};
use crate::figures::catalogue;
use crate::fixture::Fixture;
use kvdyno_record::known;
use kvdyno_record::units;
use std::collections::BTreeSet;

fn all() -> Vec<Study> {
    let read = |(id, text): &(&str, &str)| {
        let study: Study = toml::from_str(text).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(study.study.id, *id);
        study
    };
    FILES.iter().map(read).collect()
}

#[test]
fn suites_know_the_names_of_all_studies_and_figures() {
    let ids: Vec<&str> = FILES.iter().map(|(id, _)| *id).collect();
    assert_eq!(known::STUDIES, ids[..]);
    let figures: Vec<&str> = catalogue::ALL.iter().map(|figure| figure.name).collect();
    assert_eq!(known::FIGURES.to_vec(), figures, "crates/record/src/known.rs");
}

/// The number of figures on each page of the studies, counted there by hand.
#[test]
fn every_published_figure_is_there() {
    let printed = |study: &Study| {
        let rows = study.table.iter().flat_map(|table| &table.row);
        rows.map(|row| row.values.len() - row.derived.len()).sum::<usize>()
    };
    let counts: Vec<usize> = all().iter().map(printed).collect();
    // Callaghan: 3 columns and 2 for each hour that has figures (2 rows of cached end at 12, 1 at
    // 24, ...), 60 means, 3 + 10 + 3 of one hour, 2 ratios.
    let callaghan = 5 * 3
        + (2 * 2 + 2 * 2 + 2 * 2 + 2 * 3 + 2 * 2)
        + 8 * 3
        + (8 + 8 + 4 + 8 + 8 + 8 + 6 + 6)
        + 60
        + 3
        + 10
        + 3
        + 2;
    let raidix = 5 * 3 + 5 * 5 * 3;
    let selectel = 6 + 3 * 8 + 2 + 2 + 2 + 2 + 3 + 1 + 1 + 1;
    let imdt = 3 * 10 + 4 + 5;
    let optane = 10 * 10 - 2 + 2;
    assert_eq!(counts, [callaghan, raidix, selectel, imdt, optane]);
}

#[test]
fn every_figure_is_the_catalogues_or_said() {
    for study in all() {
        let own: BTreeSet<&str> = study.figure.iter().map(|own| own.name.as_str()).collect();
        let in_catalogue = |name: &str| catalogue::ALL.iter().any(|figure| figure.name == name);
        assert!(!own.iter().any(|name| in_catalogue(name)), "{own:?}");
        let mut used = BTreeSet::new();
        for (table, row) in study.table.iter().flat_map(|t| t.row.iter().map(move |r| (t, r))) {
            let place = format!("{} {} {:?}", study.study.id, table.name, row.selectors);
            assert_eq!(row.gave_up, row.values.is_empty(), "{place}");
            for (name, written) in &row.values {
                assert!(in_catalogue(name) || own.contains(name.as_str()), "{place}: {name}");
                let Written::Within { least, most } = written else { continue };
                assert!(least.or(*most).is_some(), "{place}: {name}");
                assert!(least.zip(*most).is_none_or(|(least, most)| least < most), "{place}");
            }
            assert!(row.derived.iter().all(|name| row.values.contains_key(name)), "{place}");
            let selectors = row.selectors.or(&table.selectors);
            let sizes = selectors.ram.iter().chain(&selectors.block);
            assert!(sizes.into_iter().all(|text| units::parse_bytes(text).is_ok()), "{place}");
            assert!(
                selectors.records.iter().all(|text| units::parse_count(text).is_ok()),
                "{place}"
            );
            used.extend(row.values.keys().cloned());
        }
        assert!(own.iter().all(|name| used.contains(*name)), "{}: {own:?}", study.study.id);
    }
}

/// Tables that print a figure beside those that it follows from: a slip of the pen shows.
#[test]
fn derived_figures_follow_from_the_others() {
    let mut checks = 0;
    for study in all() {
        for (table, row) in study.table.iter().flat_map(|t| t.row.iter().map(move |r| (t, r))) {
            let place = format!("{} {} {:?}", study.study.id, table.name, row.selectors);
            let value = |name: &str| match row.values.get(name) {
                Some(Written::Is(value)) => Some(*value),
                _ => None,
            };
            let records = row.selectors.or(&table.selectors).records;
            let records =
                records.map_or(study.study.data.records, |text| units::parse_count(&text).unwrap());
            if let (Some(per), Some(out)) =
                (value("fs_outputs_512_per_record"), value("fs_outputs_512"))
            {
                let off = per * records as f64 - out;
                assert!(off.abs() <= 0.51e-7 * records as f64 + 1.0, "{place}: {off} blocks off");
                checks += 1;
            }
            if let (Some(percent), Some(user), Some(system), Some(wall)) = (
                value("cpu_percent"),
                value("cpu_user_ns"),
                value("cpu_system_ns"),
                value("wall_ns"),
            ) {
                // time(1) rounds down.
                let off = 100.0 * (user + system) / wall - percent;
                let doubted = row.doubt.as_ref().is_some_and(|doubt| doubt.contains("CPU %"));
                assert_eq!((-0.05..1.05).contains(&off), !doubted, "{place}: {off} %");
                checks += 1;
            }
            if let (Some(ops), Some(bytes), Some(block)) =
                (value("ops_per_s"), value("user_bytes_per_s"), row.selectors.block.as_ref())
            {
                let block = units::parse_bytes(block).unwrap() as f64;
                assert!((ops * block / bytes - 1.0).abs() < 1e-5, "{place}");
                checks += 1;
            }
            if let (Some(rate), Some(window), Some(count)) =
                (value("ops_per_s"), value("window_ns"), value("operations"))
            {
                assert!((count * 1e9 / window / rate - 1.0).abs() < 1e-3, "{place}");
                checks += 1;
            }
        }
    }
    assert_eq!(checks, 2 * 13 + 6 + 1, "so many rows have what follows from others");
}

/// All operations of the hour are the sum of each.
#[test]
fn operations_of_the_linkbench_hour_nearly_add_up() {
    let all = all();
    let study = all.iter().find(|study| study.study.id.starts_with("callaghan")).unwrap();
    let hour = study.table.iter().find(|table| table.name == "one-hour").unwrap();
    let count = |row: &super::StudyRow| match row.values["operations"] {
        Written::Is(count) => count,
        Written::Within { .. } => 0.0,
    };
    let of_all = count(&hour.row[0]);
    let sum: f64 = hour.row[1..].iter().map(count).sum();
    assert!((of_all - sum).abs() < 0.5, "{of_all} {sum}");
}

/// The fixture's engines, as if the study were of them.
#[test]
fn published_rows_find_their_like_or_say_what_was_not_measured() {
    let mut fixture = Fixture::new();
    fixture.plan.study = Some("symas-optane-2018".to_owned());
    let summary = fixture.summary();
    let lmdb = summary.groups.iter().position(|g| g.engine == "lmdb" && g.load.is_some());
    let place = |seat: &super::RowRef| (seat.group, seat.run, seat.role);
    let beside = summary.study.as_ref().unwrap();
    let load = |row: &&super::Published| row.matches == Some(TableKind::Load);
    let whys: BTreeSet<&str> =
        beside.published.iter().filter(load).filter_map(|row| row.why_none.as_deref()).collect();
    assert_eq!(whys, BTreeSet::from(["engine lmdb1 was not measured"]));
    // A run without volumes matches every volume of a study.
    assert_eq!(beside.published[0].selectors.volume.as_deref(), Some("flash-journal"));
    let own: Vec<_> = beside.published[0].own.iter().map(place).collect();
    assert_eq!(own, [(lmdb.unwrap(), None, None)]);
    let mut on_volumes = summary.clone();
    on_volumes.groups[lmdb.unwrap()].volume = Some("flash-nojournal".to_owned());
    let other = StudyComparison::from_figures("symas-optane-2018", &on_volumes).unwrap();
    assert_eq!(
        other.published[0].why_none.as_deref(),
        Some("volume flash-journal was not measured")
    );
    assert_eq!(other.published[1].own.len(), 1);
    let imdt = StudyComparison::from_figures("symas-imdt-2018", &summary).unwrap();
    let row = imdt.published.iter().find(|row| row.table == "imdt-reads").unwrap();
    assert_eq!(row.why_none.as_deref(), Some("phase readwhilewriting was not measured"));
    assert_eq!(StudyComparison::from_figures("symas", &summary), None);
    assert!(
        beside.differences.iter().any(|one| one.subject == "records" && one.consequence.is_some())
    );
}
