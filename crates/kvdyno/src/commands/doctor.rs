//! `kvdyno doctor`: what this machine can enforce and measure, and what will distort. It never
//! changes anything.

use crate::cli::DoctorArgs;
use crate::exit::Exit;
use crate::host::Root;
use crate::host::doctor::{self, Check, Severity};
use crate::printer::{Printer, Tone};
use std::path::Path;

/// Examines the host and prints each check.
pub fn run(args: &DoctorArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let place = args.place.as_deref().unwrap_or(Path::new("runs"));
    let checks = doctor::examine(&Root::system(), place);
    if args.json {
        printer.json(&checks)?;
    } else {
        for check in &checks {
            show(check, printer);
        }
    }
    let distorts = checks.iter().any(|check| check.severity == Severity::Warning);
    Ok(if args.strict && distorts { Exit::Invalid } else { Exit::Ok })
}

fn show(check: &Check, printer: &Printer) {
    let (tone, word) = match check.severity {
        Severity::Ok => (Tone::Good, "ok     "),
        Severity::Info => (Tone::Strong, "info   "),
        Severity::Warning => (Tone::Warning, "warning"),
    };
    printer.marked(tone, word, &format!(" {:18} {}", check.id, check.value));
    if check.severity != Severity::Ok {
        printer.data(&format!("{:26} {}", "", check.why));
    }
    if let Some(remedy) = &check.remedy {
        printer.data(&format!("{:26} to change it: {remedy}", ""));
    }
}
