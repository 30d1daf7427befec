//! The fixture's engines beside a study, and claims of them.

use crate::table::Side::Right;
use crate::tables::{self, Titled};
use crate::wrap::WIDTH;
use crate::{markdown, wide};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_record::claim::{Bound, Cell, Claim, Relation, Side, Test};

pub(crate) fn claim(text: &str, volume: Option<&str>, bound: f64) -> Claim {
    let cell = |engine: &str| Cell {
        phase: "load".to_owned(),
        engine: engine.to_owned(),
        volume: volume.map(str::to_owned),
        figure: "wall_ns".to_owned(),
        ..Cell::default()
    };
    Claim {
        text: text.to_owned(),
        holds: "as written".to_owned(),
        relation: Relation {
            left: Side::Ratio(cell("lmdb"), cell("rocksdb")),
            test: Test::Above(Bound::Number(bound)),
        },
        needs: Vec::new(),
    }
}

fn summary() -> Summary {
    let mut fixture = Fixture::with_trials(4);
    fixture.plan.study = Some("symas-optane-2018".to_owned());
    fixture.plan.claims = vec![
        claim("LMDB takes some time", None, 0.01),
        claim("LMDB takes for ever", None, 100.0),
        claim("LMDB takes longer on the raw device", Some("flash-raw"), 1.0),
    ];
    fixture.summary()
}

fn text(titled: &Titled) -> String {
    format!("{} ({})\n{}\n{}\n", titled.title, titled.name, titled.table.text(), titled.aid)
}

#[test]
fn a_study_stands_beside_a_run() {
    let all = tables::all(&summary(), false);
    let expected = ["study", "claims", "load", "published"];
    let shown = all.iter().filter(|titled| expected.contains(&titled.name));
    insta::assert_snapshot!(shown.map(text).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_claims_value_has_its_figures_unit_and_a_ratio_has_none() {
    let mut fixture = Fixture::with_trials(4);
    let ratio = claim("LMDB takes some time", None, 0.01);
    let Side::Ratio(cell, other) = ratio.relation.left.clone() else { panic!("{ratio:?}") };
    let of = |left, test| Claim { relation: Relation { left, test }, ..ratio.clone() };
    let hour = Bound::Number(3.6e12);
    let slower = Bound::Side(Side::Figure(other));
    fixture.plan.claims = vec![
        of(Side::Figure(cell.clone()), Test::Below(hour)),
        of(Side::Figure(cell), Test::Below(slower)),
        ratio.clone(),
    ];
    let table = super::claims::table(&fixture.summary()).unwrap().table;
    let values: Vec<&str> = table.rows().iter().map(|row| row[1].as_str()).collect();
    assert!(values[0].ends_with('s'), "{values:?}");
    assert!(values[1..].iter().all(|value| value.parse::<f64>().is_ok()), "{values:?}");
}

/// Words break into lines and figures stand below each other; none is lost.
#[test]
fn every_study_fits_a_terminal_of_100_columns() {
    for fixture in [Fixture::with_trials(2), Fixture::with_drive(2)] {
        let mut summary = fixture.summary();
        for id in kvdyno_record::known::STUDIES {
            summary.match_study(Some(id));
            let all = tables::all(&summary, false);
            let fitted: Vec<_> = all.iter().filter(|one| one.table.lead.is_some()).collect();
            assert!(fitted.iter().any(|titled| titled.name == "published"), "{id}");
            for titled in fitted {
                let text = format!("{}\n{}", titled.table.text(), titled.aid);
                let long = text.lines().find(|line| line.chars().count() > WIDTH);
                assert!(long.is_none(), "{id}, {}: {long:?}\n{text}", titled.name);
                let figures = titled.table.columns().iter().map(|(_, side)| *side == Right);
                let figures: Vec<bool> = figures.collect();
                let rows = titled.table.rows().iter();
                for cell in rows.flat_map(|row| row.iter().zip(&figures)) {
                    assert!(!cell.1 || text.contains(cell.0.as_str()), "{id}: {}", cell.0);
                }
            }
        }
    }
}

/// Published figures are in files of their own, and in no other.
#[test]
fn published_figures_are_in_no_other_file() {
    let with = summary();
    let mut without = with.clone();
    without.match_study(None);
    without.claims = Vec::new();
    let [with_files, files] = [&with, &without].map(|summary| wide::tables(summary).unwrap());
    let names: Vec<&str> = with_files.iter().map(|(name, _)| *name).collect();
    assert!(names.ends_with(&["published", "claims"]), "{names:?}");
    assert_eq!(files, with_files[..files.len()]);
    let csv = |name: &str| {
        let (_, bytes) = with_files.iter().find(|(other, _)| *other == name).unwrap();
        String::from_utf8(bytes.clone()).unwrap()
    };
    let published = csv("published");
    assert!(published.contains(",fs_outputs_512,blocks,840839736,"), "{published}");
    assert_eq!(published.lines().count(), 1 + 100, "a line for each figure");
    let claims = csv("claims");
    assert!(claims.contains("volume flash-raw was not measured"), "{claims}");
    assert_eq!(claims.lines().count(), 1 + 3, "{claims}");
    assert_eq!(crate::long::csv(&with).unwrap(), crate::long::csv(&without).unwrap());
}

#[test]
fn the_markdown_has_both() {
    let page = markdown::page(&summary());
    for expected in
        ["### The study symas-optane-2018", "### What the suite claims", "### Published"]
    {
        assert!(page.contains(expected), "{expected}");
    }
}
