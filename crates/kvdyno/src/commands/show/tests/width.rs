//! A study and a suite's claims on a terminal with 100 columns.

use crate::cli::ViewArgs;
use crate::printer::Printer;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_record::claim::{Bound, Cell, Claim, Relation, Side, Test};
use kvdyno_record::known::STUDIES;
use kvdyno_render::screen::Ending;
use kvdyno_render::wrap::WIDTH;

/// The claims of all built-in suites, with the fixture's figures.
fn claims() -> Vec<Claim> {
    let cell = |engine: &str| Cell {
        phase: "load".to_owned(),
        engine: engine.to_owned(),
        figure: "wall_ns".to_owned(),
        ..Cell::default()
    };
    let bound = Test::Above(Bound::Number(100.0));
    let relation = Relation { left: Side::Ratio(cell("lmdb"), cell("rocksdb")), test: bound };
    let suites = kvdyno_suite::builtin().iter();
    let suites = suites.map(|(_, text)| toml::from_str::<toml::Table>(text).unwrap());
    let written = suites.flat_map(|suite| {
        suite.get("claim").and_then(toml::Value::as_array).cloned().unwrap_or_default()
    });
    let claims = written.map(|claim| Claim {
        text: claim["text"].as_str().unwrap().to_owned(),
        holds: claim["holds"].as_str().unwrap().to_owned(),
        relation: relation.clone(),
        needs: Vec::new(),
    });
    claims.collect()
}

fn shown(summary: &Summary) -> String {
    let (printer, captured) = Printer::new_captured();
    let view = ViewArgs {
        study: true,
        table: ["load", "run"].map(str::to_owned).to_vec(),
        ..ViewArgs::default()
    };
    super::super::print(summary, &view, &Ending::default(), &printer).unwrap();
    captured.out()
}

#[test]
fn studies_and_claims_fit_a_terminal_of_100_columns() {
    let mut fixture = Fixture::with_trials(4);
    fixture.plan.claims = claims();
    assert!(fixture.plan.claims.len() > 30, "{}", fixture.plan.claims.len());
    let mut summary = fixture.summary();
    for id in STUDIES {
        summary.match_study(Some(id));
        let text = shown(&summary);
        let long: Vec<_> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{id}: {long:#?}");
    }
    // Wrapped between words and after marks: each claim is complete.
    let bare = |text: &str| text.replace(char::is_whitespace, "");
    let text = bare(&shown(&summary));
    for claim in &summary.claims {
        let whole = bare(&format!("{} ({})", claim.text, claim.holds));
        assert!(text.contains(&whole), "{whole}");
    }
}
