//! `kvdyno doctor`: reports what this machine can enforce and measure, and what distorts figures.
//! It never changes anything.

use crate::cli::DoctorArgs;
use crate::printer::Printer;
use kvdyno_analysis::figures::hiccups::HiccupRow;
use kvdyno_host::doctor::{self, Diagnostic, Level};
use kvdyno_host::{Root, hiccups};
use kvdyno_record::exit::Exit;
use kvdyno_render::tone::Tone;
use kvdyno_render::wrap::wrap;
use std::path::Path;

/// The column of a check's text.
const INDENT: usize = 29;

pub(crate) fn run(args: &DoctorArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let data_dir = args.data_dir.as_deref().unwrap_or(Path::new("runs"));
    let mut checks =
        doctor::examine(crate::running::machine::read(&Root::system(), data_dir), data_dir);
    checks.push(listen(printer)?);
    if args.json {
        printer.json(&checks)?;
    } else {
        for check in &checks {
            show(check, printer);
        }
        printer.data("");
        printer.data(&summary_line(&checks));
    }
    let distorts = checks.iter().any(|check| check.severity == Level::Warning);
    Ok(if args.strict && distorts { Exit::Invalid } else { Exit::Ok })
}

/// Measures whether an idle thread runs without interruption.
fn listen(printer: &Printer) -> anyhow::Result<Diagnostic> {
    let seconds = hiccups::LENGTH.as_secs();
    printer.note(&format!("measuring interruptions of the idle machine for {seconds} s"));
    let recording = hiccups::listen(hiccups::LENGTH).map_err(anyhow::Error::msg)?;
    let gaps = HiccupRow::from_hiccups(&recording).map(|row| row.gaps()).unwrap_or_default();
    Ok(doctor::hiccups(&gaps, recording.max_ns))
}

fn summary_line(checks: &[Diagnostic]) -> String {
    let count = |severity| checks.iter().filter(|check| check.severity == severity).count();
    let things = |n: usize| if n == 1 { "1 thing".to_owned() } else { format!("{n} things") };
    let not_held = checks.iter().any(|c| c.id == "ram_limit" && c.severity == Level::Warning);
    let note = if not_held { "; a RAM limit is NOT HELD here" } else { "; a RAM limit is held" };
    match (count(Level::Warning), count(Level::Info)) {
        (0, 0) => format!("nothing found that distorts figures{note}"),
        (0, info) => format!("nothing distorts figures, {} to note{note}", things(info)),
        (bad, info) => {
            format!("{} will distort figures, {info} more to note{note}", things(bad))
        }
    }
}

fn show(check: &Diagnostic, printer: &Printer) {
    let (tone, word) = match check.severity {
        Level::Ok => (Tone::Good, "ok     "),
        Level::Info => (Tone::Strong, "info   "),
        Level::Warning => (Tone::Warning, "warning"),
    };
    printer.marked_data(tone, word, &format!(" {:20} {}", check.id, wrap(&check.value, INDENT)));
    let line = |text: &str| printer.data(&format!("{:INDENT$}{}", "", wrap(text, INDENT)));
    if check.severity != Level::Ok {
        line(check.reason);
    }
    if let Some(remedy) = &check.remedy {
        line(&format!("to change it: {remedy}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_what_it_comes_to() {
        let check = |id, severity| Diagnostic {
            id,
            severity,
            value: String::new(),
            reason: "",
            remedy: None,
        };
        let fine = [check("ram_limit", Level::Ok)];
        assert_eq!(summary_line(&fine), "nothing found that distorts figures; a RAM limit is held");
        let bad = [
            check("ram_limit", Level::Warning),
            check("swap", Level::Warning),
            check("kernel", Level::Info),
        ];
        assert_eq!(
            summary_line(&bad),
            "2 things will distort figures, 1 more to note; a RAM limit is NOT HELD here"
        );
    }
}
