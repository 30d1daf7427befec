//! `kvdyno show --by host`: one suite's runs of many machines, side by side.

use super::{compare, report, runs};
use crate::cli::{RunName, ShowArgs};
use crate::printer::Printer;
use anyhow::Context as _;
use kvdyno_analysis::answers::fleet::{Fleet, Member};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::answers::trend::LeftOut;
use kvdyno_record::exit::Exit;
use kvdyno_render::fleet as text;
use kvdyno_render::page::FleetData;
use kvdyno_render::wrap::wrap;

pub(super) fn show(args: &ShowArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let figures = compare::figures(&args.fleet.figures, args.fleet.all)?;
    let (mut members, mut void) = (Vec::new(), Vec::new());
    for name in &args.names {
        let name = RunName { run: name.clone(), runs: args.runs.clone() };
        // Only one bundle is unpacked at a time.
        let folder = runs::find(&name)?;
        let summary = Summary::read(&folder).with_context(runs::unread(&folder))?;
        runs::warn_if_altered(&summary, printer);
        match Member::from_summary(&summary) {
            Ok(member) => members.push(member),
            Err(findings) => {
                let findings = findings.join(", ");
                let host = &summary.host.hostname;
                let why = format!("left out {host}: its figures are invalid ({findings})");
                void.push(LeftOut { run: summary.run.id, why });
            }
        }
    }
    let exit = if void.is_empty() { Exit::Ok } else { Exit::Invalid };
    let reasons: Vec<String> = void.iter().map(|run| format!("{}: {}", run.run, run.why)).collect();
    let Some(fleet) = Fleet::from_members(members, void, &figures) else {
        let reasons = reasons.join("; ");
        printer.warning(&format!(
            "no run has valid figures: {reasons}; `kvdyno show RUN --findings` shows the findings"
        ));
        return Ok(Exit::Invalid);
    };
    if args.view.json {
        printer.json(&fleet)?;
    } else if let Some(path) = &args.fleet.html {
        report::write(&FleetData::new(fleet), path, printer)?;
    } else {
        print(&fleet, args.view.wide, printer);
    }
    Ok(exit)
}

fn print(fleet: &Fleet, by_host: bool, printer: &Printer) {
    compare::lines(text::header(fleet), printer);
    printer.data("");
    printer.data(&text::table(fleet, by_host).text());
    printer.data(&wrap(&text::aid(fleet), 0));
    printer.data("");
    compare::lines(text::footer(fleet), printer);
}
