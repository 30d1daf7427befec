//! `kvdyno bundle`: a run in one file, to publish and repeat elsewhere.

use crate::cli::BundleArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::bundle::{self, ENDING};
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::plan::Plan;
use kvdyno_record::replay::{Replay, replays};
use kvdyno_record::run::RunRecord;
use kvdyno_record::text::escape_line;
use kvdyno_record::units;
use kvdyno_render::command::command_line;
use kvdyno_render::markdown;
use kvdyno_render::page::{PageData, TEMPLATE, html};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(crate) fn run(args: &BundleArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    if dir.is_bundle() {
        let message = format!("{} is already a bundle", dir.display_path().display());
        return Err(Complaint::usage(message).into());
    }
    // A live run changes while it is read.
    let _lock = runs::lock(&dir)?;
    let changed = dir.changed_since_sealed()?;
    if let Some(first) = changed.first() {
        let message = format!(
            "{} was altered: {first} differs from its sealed checksum ({} in all)",
            dir.path.display(),
            units::pluralize(changed.len(), "file")
        );
        let hint = format!(
            "`kvdyno check {}` lists what differs; a bundle would present the record as intact",
            dir.path.display()
        );
        return Err(Complaint::usage(message).hint(hint).into());
    }
    let summary = runs::read_summary(&dir)?;
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}{ENDING}", summary.run.id)));
    let packed = bundle::pack(&dir, documents(&dir, &summary)?, &path)
        .with_context(|| format!("failed to bundle the run in `{}`", dir.path.display()))?;
    printer.data(&path.display().to_string());
    printer.note(&format!(
        "{} files, {}, packed {}; review record/host before you publish it: it describes the \
         machine in detail",
        packed.files,
        units::bytes(packed.bytes),
        units::bytes(packed.size_bytes)
    ));
    for (name, digest) in traces(&dir.plan()?) {
        printer.note(&format!(
            "trace {name} (checksum {digest}) is not included: publish it next to the bundle, \
             under that name, or name its source"
        ));
    }
    Ok(Exit::Ok)
}

/// Returns the traces that a plan replays, each once. No record contains them.
fn traces(plan: &Plan) -> BTreeSet<(String, String)> {
    let all = plan.cases.iter().flat_map(|case| replays(&case.phases));
    let name = |replay: &Replay| {
        let name = replay.file.file_name().unwrap_or(replay.file.as_os_str());
        (name.to_string_lossy().into_owned(), replay.digest.clone())
    };
    all.map(name).collect()
}

/// The parts for readers, made here and packed next to the record.
fn documents(run: &RunDir, summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let page = html(TEMPLATE, &PageData::read(run)?)?;
    Ok(vec![
        ("README.md", readme(&run.run()?).into_bytes()),
        ("report/tables.md", markdown::page(summary).into_bytes()),
        ("report/report.html", page.into_bytes()),
    ])
}

/// Returns the README for a reader who has unpacked the bundle and does not know kvdyno. The record
/// may be a stranger's: its words are indented code, in which Markdown has no effect.
fn readme(run: &RunRecord) -> String {
    let command = command_line(&run.command);
    let command = escape_line(&command);
    let program = escape_line(&run.program);
    format!(
        "# A measurement by kvdyno

The command, by kvdyno {program}:

    {command}

| path | contents |
|---|---|
| report/report.html | tables and figures, for a browser |
| report/tables.md | the tables |
| record | the suite, the plan, the machine, and what each case measured |
| SHA256SUMS | for `sha256sum -c SHA256SUMS`: it finds damage |

With [kvdyno](https://github.com/kvdyno/kvdyno). The packed file works in place of `record`:

    kvdyno check record     is the record complete, and are its values plausible?
    kvdyno show record      the tables; `--help` lists them
    kvdyno rerun record     repeats the run on this machine and compares
"
    )
}
