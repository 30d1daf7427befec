//! `kvdyno bundle`: a run in one file, to publish and repeat elsewhere.

use crate::cli::BundleArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::bundle::{self, ENDING};
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use kvdyno_record::replay::{Replay, replays};
use kvdyno_record::units;
use kvdyno_render::markdown;
use kvdyno_render::page::{PageData, TEMPLATE, html};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(crate) fn run(args: &BundleArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = runs::find(&args.name.run, &args.name.runs.runs)?;
    if folder.is_bundle() {
        let message = format!("{} is already a bundle", folder.named().display());
        return Err(Complaint::usage(message).into());
    }
    // A live run changes while it is read.
    let _alone = runs::lock(&folder)?;
    let changed = folder.changed_since_sealed()?;
    if let Some(first) = changed.first() {
        let message = format!(
            "{} was altered: {first} differs from its sealed checksum ({} in all)",
            folder.path.display(),
            units::files(changed.len())
        );
        let hint = format!(
            "`kvdyno check {}` lists what differs; a bundle would present the record as intact",
            folder.path.display()
        );
        return Err(Complaint::usage(message).hint(hint).into());
    }
    let summary = runs::read_summary(&folder)?;
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}{ENDING}", summary.run.id)));
    let packed = bundle::pack(&folder, report(&folder, &summary)?, &path)
        .with_context(|| format!("failed to bundle the run in `{}`", folder.path.display()))?;
    printer.data(&path.display().to_string());
    printer.note(&format!(
        "{} files, {}, packed {}; review record/host before you publish it: it describes the \
         machine in detail",
        packed.files,
        units::bytes(packed.bytes),
        units::bytes(packed.size_bytes)
    ));
    for (name, digest) in traces(&folder.plan()?) {
        printer.note(&format!(
            "trace {name} (checksum {digest}) is not included: publish it next to the bundle, \
             under that name, or name its source"
        ));
    }
    Ok(Exit::Ok)
}

/// The traces of its work, which no record contains, each once.
fn traces(plan: &Plan) -> BTreeSet<(String, String)> {
    let all = plan.cases.iter().flat_map(|case| replays(&case.phases));
    let name = |replay: &Replay| {
        let name = replay.file.file_name().unwrap_or(replay.file.as_os_str());
        (name.to_string_lossy().into_owned(), replay.digest.clone())
    };
    all.map(name).collect()
}

/// The parts for readers, made here and packed next to the record: the tables, and the page.
fn report(run: &RunFolder, summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let page = html(TEMPLATE, &PageData::read(run)?)?;
    Ok(vec![
        ("tables.md", markdown::page(summary).into_bytes()),
        ("report.html", page.into_bytes()),
    ])
}
