//! `kvdyno site`: runs as a directory for any web server: an index, and the report and exports of
//! each.
//!
//! `site.json` marks the directory as a site, and has the index's rows: a run is added without the
//! records of the others.

use super::report;
use crate::cli::SiteArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::write_atomic;
use kvdyno_record::units;
use kvdyno_render::page::{PageData, RunEntry, RunsData, State, TEMPLATE, html};
use kvdyno_render::{long, markdown, xlsx};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file that marks a site.
const MARKER: &str = "site.json";
/// The version of that file.
const FORMAT: u32 = 1;

/// The index of a site, the newest run first.
#[derive(Debug, Serialize, Deserialize)]
struct Site {
    kvdyno_site: u32,
    runs: Vec<RunEntry>,
}

/// A run for the site: its row, and its files.
struct RunFiles {
    entry: RunEntry,
    files: [(&'static str, Vec<u8>); 5],
}

pub(crate) fn run(args: &SiteArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut site = Site::open(&args.dir)?;
    let read = |name: &String| read_run(name, &args.runs.runs, printer);
    let added: Vec<RunFiles> = args.names.iter().map(read).collect::<Result<_, _>>()?;
    create(&args.dir)?;
    // The mark comes first: an interrupted command can be repeated.
    site.write(&args.dir)?;
    for run in added {
        let dir = args.dir.join("runs").join(&run.entry.name);
        create(&dir)?;
        for (name, bytes) in &run.files {
            write_atomic(&dir.join(name), bytes)?;
        }
        site.add(run.entry);
    }
    site.write(&args.dir)?;
    let count = site.runs.len();
    report::write(&RunsData::site(site.runs), &args.dir.join("index.html"), printer)?;
    printer.note(&format!("the site has {}", units::pluralize(count, "run")));
    Ok(Exit::Ok)
}

impl Site {
    /// Opens the site in a directory, or a new one if the directory is empty or missing.
    fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(MARKER);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && is_free(dir)? => {
                return Ok(Self { kvdyno_site: FORMAT, runs: Vec::new() });
            }
            Err(error)
                if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) =>
            {
                let what = format!(
                    "`{}`: expected a new or empty directory, or a site, found other files",
                    dir.display()
                );
                let hint = "name another directory: a site is not mixed with other files";
                return Err(Complaint::usage(what).hint(hint).into());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("failed to read `{}`", path.display()));
            }
        };
        let content = match serde_json::from_slice::<Self>(&text) {
            Ok(site) if site.kvdyno_site == FORMAT => return Ok(site),
            Ok(site) => format!("format {}", site.kvdyno_site),
            Err(error) => error.to_string(),
        };
        let path = path.display();
        let what = format!("`{path}`: expected a site's index of format {FORMAT}, found {content}");
        Err(Complaint::usage(what).hint("write a new site into another directory").into())
    }

    /// Adds a run, or replaces it.
    fn add(&mut self, run: RunEntry) {
        self.runs.retain(|other| other.name != run.name);
        self.runs.push(run);
        self.runs.sort_by_key(|run| std::cmp::Reverse(run.started_unix_ns));
    }

    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        write_atomic(&dir.join(MARKER), &serde_json::to_vec_pretty(self)?)?;
        Ok(())
    }
}

/// Whether a directory is missing or empty.
fn is_free(dir: &Path) -> anyhow::Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", dir.display())),
    }
}

fn create(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir)
        .with_context(|| format!("failed to create the directory `{}`", dir.display()))
}

/// Reads a run, and renders all that the site has of it.
fn read_run(name: &str, runs: &Path, printer: &Printer) -> anyhow::Result<RunFiles> {
    let dir = runs::find(name, runs)?;
    let unread = || format!("failed to read the run in `{}`", dir.path.display());
    let evidence = Evidence::read(&dir).with_context(unread)?;
    if !evidence.complete {
        let what = format!("`{}` is not complete", dir.display_path().display());
        let hint = "wait until it ends, or finish it with `kvdyno resume`";
        return Err(Complaint::usage(what).hint(hint).into());
    }
    let summary = Summary::from_evidence(&evidence).with_context(unread)?;
    runs::warn_if_altered(&summary, printer);
    let id = summary.run.id.clone();
    if !is_file_name(&id) {
        let what = format!("expected an id of letters, digits, `.`, `_` and `-`, found `{id}`");
        return Err(Complaint::usage(what).hint("the record was altered: leave it out").into());
    }
    let page = html(TEMPLATE, &PageData::read(&dir).with_context(unread)?)?;
    Ok(RunFiles {
        entry: RunEntry::new(&id, &evidence, &summary, State::Complete),
        files: [
            ("index.html", page.into_bytes()),
            ("tables.md", markdown::page(&summary).into_bytes()),
            ("workbook.xlsx", xlsx::workbook(&evidence, &summary)?),
            ("figures.csv", long::csv(&summary)?),
            ("summary.json", serde_json::to_vec_pretty(&summary)?),
        ],
    })
}

/// Whether an id from a record is one file name on every system.
fn is_file_name(id: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    !id.starts_with('.') && !id.is_empty() && id.len() < 200 && id.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use kvdyno_analysis::fixture::Fixture;
    use std::path::PathBuf;

    fn write_run(dir: &Path, id: &str, day: u64) -> String {
        let mut fixture = Fixture::new();
        fixture.run.id = id.to_owned();
        fixture.run.started_unix_ns += day * 86_400_000_000_000;
        let path = dir.join(format!("run{day}"));
        fixture.write(&path);
        path.display().to_string()
    }

    fn write_site(dir: &Path, names: &[&String]) -> anyhow::Result<Exit> {
        let names = names.iter().map(|name| (*name).clone()).collect();
        let args = SiteArgs { dir: dir.to_owned(), names, ..SiteArgs::default() };
        run(&args, &Printer::new_captured().0)
    }

    fn ids(dir: &Path) -> Vec<String> {
        Site::open(dir).unwrap().runs.into_iter().map(|run| run.name).collect()
    }

    fn files(dir: &Path) -> Vec<PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    #[test]
    fn runs_are_added_to_a_site_the_newest_first() {
        let scratch = tempfile::tempdir().unwrap();
        let (old, new) = (write_run(scratch.path(), "old", 1), write_run(scratch.path(), "new", 2));
        let dir = scratch.path().join("a/site");
        write_site(&dir, &[&new]).unwrap();
        let index = fs::read(dir.join("index.html")).unwrap();
        write_site(&dir, &[&old, &new]).unwrap();
        assert_eq!(ids(&dir), ["new", "old"]);
        assert_ne!(fs::read(dir.join("index.html")).unwrap(), index);
        let names = files(&dir.join("runs/old"));
        let names = names.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
        let expected = ["figures.csv", "index.html", "summary.json", "tables.md", "workbook.xlsx"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        let entry = &Site::open(&dir).unwrap().runs[0];
        assert!(entry.answer.as_ref().is_some_and(|answer| answer.contains("LMDB")));
        assert_eq!((entry.verdicts.figures, entry.verdicts.undecided), (3, 3));
        assert!(entry.drive.is_some() && entry.machine.contains("EPYC"), "{entry:?}");
    }

    #[test]
    fn nothing_else_is_written_over_and_nothing_is_written_for_a_run_that_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let good = write_run(scratch.path(), "good", 1);
        let dir = |name: &str| scratch.path().join(name);
        fs::create_dir(dir("mine")).unwrap();
        fs::write(dir("mine/index.html"), "mine").unwrap();
        fs::write(dir("file"), "mine").unwrap();
        fs::create_dir(dir("newer")).unwrap();
        fs::write(dir("newer/site.json"), "{\"kvdyno_site\": 2, \"runs\": []}").unwrap();
        for name in ["mine", "file", "newer"] {
            let error = write_site(&dir(name), &[&good]).unwrap_err();
            assert_eq!(exit::from_error(&error), Exit::Usage, "{error:#}");
        }
        assert_eq!(fs::read(dir("mine/index.html")).unwrap(), b"mine");
        assert_eq!(files(&dir("mine")).len(), 1);
        let mut partial = Fixture::new();
        partial.cases.truncate(4);
        partial.write_partial(&dir("partial"));
        let partial = dir("partial").display().to_string();
        let evil = write_run(scratch.path(), "../../evil", 3);
        for bad in [partial, evil] {
            let error = write_site(&dir("site"), &[&good, &bad]).unwrap_err();
            assert_eq!(exit::from_error(&error), Exit::Usage, "{error:#}");
            assert!(!dir("site").exists());
        }
        fs::create_dir(dir("site")).unwrap();
        write_site(&dir("site"), &[&good]).unwrap();
        assert_eq!(ids(&dir("site")), ["good"]);
    }
}
