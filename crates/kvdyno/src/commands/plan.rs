//! `kvdyno plan`: says what a run would do and need, and does nothing.

use super::prepare::{Prepared, prepare, tell};
use crate::cli::PlanArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_host::{DataDirectory, Root};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::{Case, Copying, Plan};
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::wrap::wrap;
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<Exit> {
    only(&prepare(&args.suite, Path::new("runs"))?, args.json, printer)
}

/// Says what would be done, and then whether a run would be refused here: the plan is told all the
/// same, as another machine may have what this one lacks.
pub(super) fn only(prepared: &Prepared, json: bool, printer: &Printer) -> anyhow::Result<Exit> {
    if let Some(place) = &prepared.place {
        // As a run would; whether there is room is said last.
        DataDirectory::examine(&Root::system(), place, 0, None)?;
    }
    if json {
        printer.json(&prepared.plan)?;
    } else {
        show(prepared, printer);
    }
    prepared.check().map_err(|Complaint { message, hint }| {
        let message = format!("a run would be refused: {message}");
        Complaint { message, hint }
    })?;
    Ok(Exit::Ok)
}

/// Outline, cases, and what the estimate rests on.
fn show(prepared: &Prepared, printer: &Printer) {
    printer.heading(&prepared.plan.title);
    tell(prepared, |text| printer.data(text), |text| printer.warning(text));
    printer.data(&table(&prepared.plan));
    let assumptions = &prepared.plan.estimate.assumptions;
    let assumptions: Vec<String> = assumptions.iter().map(|text| wrap(text, 4)).collect();
    let assumptions = assumptions.join("\n  - ");
    printer.data(&format!("The estimate rests on:\n  - {assumptions}"));
}

fn table(plan: &Plan) -> String {
    let columns = ["case", "engine", "durability", "RAM limit", "records", "data", "phases"];
    let mut table = Table::new(columns.map(|column| (column, Side::Left)));
    for case in &plan.cases {
        table.row(&row(case));
    }
    format!("\n{}\n", table.text())
}

fn row(case: &Case) -> Vec<String> {
    let copy = case.database.copy.map(|copying| match copying {
        Copying::Copy => "(copy)",
        Copying::Reflink => "(reflink)",
    });
    let phases = case.phases.iter().map(|phase| phase.name.as_str());
    let phases: Vec<&str> = copy.into_iter().chain(phases).collect();
    vec![
        case.id.clone(),
        case.label.clone(),
        case.options.durability.as_str().to_owned(),
        case.ram_limit_bytes.map_or_else(|| "none".to_owned(), units::bytes),
        units::count(case.data.records),
        units::bytes(case.shape.user_bytes()),
        phases.join(", "),
    ]
}
