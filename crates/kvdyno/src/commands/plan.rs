//! `kvdyno plan`: shows what a run would do and need, without running it.

mod grid;

use super::prepare::{Prepared, prepare, report_plan};
use crate::cli::PlanArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_host::{DataDirectory, Root};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::{Case, Copying, Plan};
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::wrap::wrap;

pub(crate) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let format = match (args.json, args.cases) {
        (true, _) => PlanFormat::Json,
        (false, true) => PlanFormat::Cases,
        (false, false) => PlanFormat::Grid,
    };
    report_only(&prepare(&args.suite, &args.runs.runs)?, format, printer)
}

/// The format of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlanFormat {
    /// An engine of a part on each line.
    Grid,
    /// A case on each line.
    Cases,
    Json,
}

/// Shows the plan, and then whether this machine would refuse it: another machine may be able to
/// run it.
pub(super) fn only(prepared: &Prepared, json: bool, printer: &Printer) -> anyhow::Result<Exit> {
    report_only(prepared, if json { PlanFormat::Json } else { PlanFormat::Grid }, printer)
}

fn report_only(prepared: &Prepared, format: PlanFormat, printer: &Printer) -> anyhow::Result<Exit> {
    if let Some(data_dir) = &prepared.data_dir {
        // Like a run; the check for free space comes last.
        DataDirectory::examine(&Root::system(), data_dir, 0, None)?;
    }
    match format {
        PlanFormat::Json => printer.json(&prepared.plan)?,
        PlanFormat::Grid => show(prepared, &grid::table(&prepared.plan), printer),
        PlanFormat::Cases => show(prepared, &cases(&prepared.plan), printer),
    }
    prepared.check().map_err(|Complaint { message, hint }| {
        let message = format!("a run would be refused: {message}");
        Complaint { message, hint }
    })?;
    Ok(Exit::Ok)
}

/// Outline, grid or cases, and the assumptions of the estimate.
fn show(prepared: &Prepared, table: &str, printer: &Printer) {
    printer.heading(&prepared.plan.title);
    report_plan(prepared, |text| printer.data(text), |text| printer.warning(text));
    printer.data(table);
    let assumptions = &prepared.plan.estimate.assumptions;
    let assumptions: Vec<String> = assumptions.iter().map(|text| wrap(text, 4)).collect();
    let assumptions = assumptions.join("\n  - ");
    printer.data(&format!("Assumptions of the estimate:\n  - {assumptions}"));
}

/// Every case.
fn cases(plan: &Plan) -> String {
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
        units::bytes(case.user_bytes()),
        phases.join(", "),
    ]
}
