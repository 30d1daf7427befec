//! `kvdyno drive`: the drive below a data directory, without an engine. It writes a suite, and runs
//! it like `kvdyno run`.

mod import;
mod job_file;
mod steady;
mod text;

use crate::cli::{DriveArgs, DrivePreset, DriveRw, DriveWay, LocationArgs};
use crate::commands::{judge, plan, show};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::prepare::prepare_text;
use crate::running::runner::Ended;
use crate::running::{start, workers};
use kvdyno_host::raw::Consent;
use kvdyno_record::exit::Exit;
use kvdyno_suite::Overrides;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::thread::available_parallelism;

pub(crate) fn run(args: &DriveArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let runs = &args.keep.runs.runs;
    if let Some(file) = &args.import_fio {
        let dir = import::import(file, runs, &args.keep.named)?;
        return show::show_ended(dir, Ended::Complete, &args.view, printer);
    }
    check(args)?;
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let file = args.fio_job.as_ref().map(|path| job_file::read(path, args.duration.is_some()));
    let file = file.transpose()?;
    for note in file.iter().flat_map(|file| &file.notes) {
        printer.note(&format!("job file: {note}"));
    }
    let text = text::suite(args, cpus, file.as_ref());
    if args.print_suite {
        printer.verbatim(text.as_bytes());
        return Ok(Exit::Ok);
    }
    if args.with_fio && !workers::is_installed("fio") {
        return Err(Complaint::usage("--with-fio: cannot find the program `fio`")
            .hint("`apt install fio` (Debian, Ubuntu), `dnf install fio` (Fedora, RHEL)")
            .into());
    }
    // Several directories are volumes, each with its own lock.
    let data_dir = args.paths.first().filter(|_| args.paths.len() == 1).cloned();
    let location = LocationArgs { data_dir, create_data_dir: args.create_data_dir };
    note_shared_filesystems(&args.paths, printer);
    let file = "drive.toml (written by kvdyno drive)";
    let mut prepared = prepare_text(file, text, Overrides::default(), &location, runs, printer)?;
    prepared.consent = match &args.destroy_data_on {
        Some(device) => Consent::Destroy(device.clone()),
        None if args.read_only => Consent::Read,
        None => Consent::None,
    };
    judge::set_target(&mut prepared.plan, args.view.target.as_ref())?;
    if args.plan {
        return plan::show_plan(&prepared, args.view.json, printer);
    }
    let (dir, ended) = start::run_prepared(&prepared, &args.keep, None, printer)?;
    let exit = show::show_ended(dir.clone(), ended, &args.view, printer)?;
    if !args.view.json {
        steady::print_steady(&dir, args.preset == Some(DrivePreset::SniaIops), printer)?;
    }
    Ok(exit)
}

/// Prints a note if two directories are on one filesystem: they are one drive.
fn note_shared_filesystems(paths: &[PathBuf], printer: &Printer) {
    let device = |path: &PathBuf| path.metadata().ok().map(|meta| meta.dev());
    for (index, path) in paths.iter().enumerate() {
        let of_one = |other: &&PathBuf| device(other).is_some() && device(other) == device(path);
        if let Some(other) = paths[..index].iter().find(of_one) {
            let [other, path] = [other, path].map(|path| path.display());
            printer.note(&format!("{other} and {path} are on one filesystem"));
        }
    }
}

/// Refuses options that would change nothing: they are a misunderstanding.
fn check(args: &DriveArgs) -> Result<(), Complaint> {
    let says = |what: &str, hint: &str| Err(Complaint::usage(what.to_owned()).hint(hint));
    let mixes = args.rw.iter().any(|rw| matches!(rw, DriveRw::Randrw | DriveRw::Both));
    if args.read_share.is_some() && !mixes {
        let hint = "`--rw randrw` (at random) or `--rw rw` (in order)";
        return says("--read-share: no job both reads and writes", hint);
    }
    let rings =
        args.preset.is_some() || args.fio_job.is_some() || args.io.contains(&DriveWay::IoUring);
    if (args.sqpoll || args.iopoll) && !rings {
        let option = if args.sqpoll { "--sqpoll" } else { "--iopoll" };
        return says(&format!("{option}: no job uses io_uring"), "`--io io_uring,psync`");
    }
    let writes = args.rw.iter().any(|rw| !matches!(rw, DriveRw::Randread | DriveRw::Read));
    if args.sync.is_some() && !writes {
        return says("--sync: no job writes what could be flushed", "`--rw randwrite`");
    }
    if args.sync.is_some() && args.io.contains(&DriveWay::Mmap) {
        return says("--sync: stores into a map are not flushed by it", "`--io psync,io_uring`");
    }
    let rounds = args.round.is_some() || args.rounds.is_some();
    if rounds && args.preset != Some(DrivePreset::SniaIops) {
        let option = if args.round.is_some() { "--round" } else { "--rounds" };
        let hint = "with other presets, --duration sets the length of a job and --trials the \
                    number of repetitions";
        return says(&format!("{option} needs `--preset snia-iops`"), hint);
    }
    if args.paths.len() > 1 {
        if let Some(path) = args.paths.iter().find(|path| !path.is_dir()) {
            let what = format!("{}: expected a directory beside other paths", path.display());
            let hint = "make it, or compare devices as [[volume]] of a suite: --print-suite";
            return says(&what, hint);
        }
        if let Some(path) = find_repeated(&args.paths) {
            let what = format!("{}: this directory is named twice", path.display());
            return says(
                &what,
                "name each directory once; `--trials` sets how often it is measured",
            );
        }
    }
    if let Some(device) = args.destroy_data_on.as_ref().filter(|_| is_dir(args)) {
        let what = format!("--destroy-data-on={}: PATH is a directory", device.display());
        return says(&what, "use the device as PATH too");
    }
    Ok(())
}

/// A directory that an earlier path names too.
fn find_repeated(paths: &[PathBuf]) -> Option<&PathBuf> {
    let mut seen = BTreeSet::new();
    paths.iter().find(|path| {
        path.metadata().is_ok_and(|metadata| !seen.insert((metadata.dev(), metadata.ino())))
    })
}

fn is_dir(args: &DriveArgs) -> bool {
    args.paths.first().is_some_and(|path| path.is_dir() || !path.exists())
}
