//! `kvdyno show --by host`: one suite's runs of many machines, side by side.

use super::{compare, report};
use crate::cli::ShowArgs;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::answers::fleet::{Fleet, Member};
use kvdyno_analysis::answers::trend::LeftOut;
use kvdyno_record::exit::Exit;
use kvdyno_render::fleet as text;
use kvdyno_render::page::FleetData;

pub(super) fn show(args: &ShowArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let figures = compare::figures(&args.fleet.figures, args.fleet.all)?;
    let (mut members, mut void) = (Vec::new(), Vec::new());
    for name in &args.names {
        // Only one bundle is unpacked at a time.
        let summary = runs::read_summary(&*runs::find(name, &args.runs.runs)?)?;
        runs::warn_if_altered(&summary, printer);
        match Member::from_summary(&summary) {
            Ok(member) => members.push(member),
            Err(findings) => {
                let findings = findings.join(", ");
                let host = &summary.host.hostname;
                let why = format!("left out {host}: its figures are invalid ({findings})");
                void.push(LeftOut { run: summary.run.id.clone(), reason: why });
            }
        }
    }
    let exit = if void.is_empty() { Exit::Ok } else { Exit::Invalid };
    let reasons: Vec<String> =
        void.iter().map(|run| format!("{}: {}", run.run, run.reason)).collect();
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
        let (header, footer) = (text::header(&fleet), text::footer(&fleet));
        let table = text::table(&fleet, args.view.wide);
        compare::print(header, &table, &text::reading_aid(&fleet), footer, printer);
    }
    Ok(exit)
}
