//! `kvdyno plan`: shows what a run would do and need, without running it.

mod grid;

use crate::cli::PlanArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::prepare::{PreparedRun, prepare, report_plan};
use kvdyno_host::{DataDirectory, Root};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::wrap::wrap;

pub(crate) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let table = if args.cases { cases } else { grid::table };
    show(&prepare(&args.suite, &args.runs.runs, printer)?, args.json, table, printer)
}

/// Shows the plan, an engine of a part on each line.
pub(crate) fn show_plan(
    prepared: &PreparedRun,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    show(prepared, json, grid::table, printer)
}

/// Shows the plan, and then whether this machine would refuse it: another machine may be able to
/// run it.
fn show(
    prepared: &PreparedRun,
    json: bool,
    table: fn(&Plan) -> String,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    if let Some(data_dir) = &prepared.data_dir {
        // A run examines it too. The check for free space comes last.
        DataDirectory::examine(&Root::system(), data_dir, 0, None)?;
    }
    if json {
        printer.json(&prepared.plan)?;
    } else {
        print(prepared, &table(&prepared.plan), printer);
    }
    prepared.check().map_err(|Complaint { message, hint }| {
        let message = format!("a run would be refused: {message}");
        Complaint { message, hint }
    })?;
    Ok(Exit::Ok)
}

/// Prints the outline, the grid or the cases, and the assumptions of the estimate.
fn print(prepared: &PreparedRun, table: &str, printer: &Printer) {
    printer.heading(&prepared.plan.title);
    report_plan(prepared, |text| printer.data(text), printer);
    printer.data(table);
    let assumptions = &prepared.plan.estimate.assumptions;
    let assumptions: Vec<String> = assumptions.iter().map(|text| wrap(text, 4)).collect();
    let assumptions = assumptions.join("\n  - ");
    printer.data(&format!("Assumptions of the estimate:\n  - {assumptions}"));
}

/// Returns a table with a case on each line.
fn cases(plan: &Plan) -> String {
    let columns = ["case", "engine", "durability", "RAM limit", "records", "data", "phases"];
    let mut table = Table::new(columns.map(|column| (column, Side::Left)));
    for case in &plan.cases {
        table.row(&row(case));
    }
    format!("\n{}\n", table.text())
}

fn row(case: &Case) -> Vec<String> {
    let copy = case.copies_state().then_some("(copy)");
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
