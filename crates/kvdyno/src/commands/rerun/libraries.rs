//! Finds the libraries of a recorded run: by checksum or version among the installed ones, by
//! checksum among the plugins, or at the user's path. Code is never loaded from a recorded path.

use crate::exit::Complaint;
use crate::running::libraries::{choose, with_installed_library, with_library_file};
use crate::running::workers::{self, CodeSource, Workers};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::library::{self, Installed};
use kvdyno_record::files::sha256;
use kvdyno_record::library::Library;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_suite::{Missing, Pick, WorkerSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Libraries from the command line: `LABEL=PATH`, or a path for the only engine that loads one.
pub(super) struct NamedLibraries(BTreeMap<String, PathBuf>);

/// Versions to fetch, by engine.
type ToGet = BTreeMap<String, BTreeSet<String>>;

impl NamedLibraries {
    /// Parses the typed options for the engines of a plan.
    pub(super) fn parse(typed: &[String], plan: &Plan) -> Result<Self, Complaint> {
        let loaded = plan.cases.iter().filter(|case| case.library.is_some());
        let labels: BTreeSet<&str> = loaded.map(|case| case.label.as_str()).collect();
        let mut libraries = BTreeMap::new();
        for text in typed {
            // Labels and paths may have a `=` of their own.
            let label_and_path = labels
                .iter()
                .filter_map(|label| Some((*label, text.strip_prefix(*label)?.strip_prefix('=')?)))
                .max_by_key(|(label, _)| label.len());
            let (label, path) = match (label_and_path, labels.first()) {
                (Some(label_and_path), _) => label_and_path,
                (None, Some(only)) if labels.len() == 1 => (*only, text.as_str()),
                _ => {
                    let labels_text = labels.into_iter().collect::<Vec<_>>().join(", ");
                    let what = format!("--library {text}: the engine is ambiguous");
                    let labels_text =
                        if labels_text.is_empty() { "no engine".to_owned() } else { labels_text };
                    let hint = format!("expected LABEL=PATH; loaded from a library: {labels_text}");
                    return Err(Complaint::usage(what).hint(hint));
                }
            };
            libraries.insert(label.to_owned(), PathBuf::from(path));
        }
        Ok(Self(libraries))
    }
}

/// The plan with the libraries of this machine, and their workers.
pub(super) fn use_local_libraries(
    plan: &Plan,
    user_libraries: &NamedLibraries,
) -> anyhow::Result<(Plan, Workers)> {
    let mut plan = plan.clone();
    let (mut workers, mut to_get) = (Workers::default(), ToGet::new());
    let mut libraries: BTreeMap<String, Option<Library>> = BTreeMap::new();
    for case in &mut plan.cases {
        if !libraries.contains_key(&case.label) {
            let Some(worker) = worker(case, user_libraries, &mut to_get)? else { continue };
            libraries.insert(case.label.clone(), worker.library.clone());
            workers.add(&case.engine, worker);
        }
        case.library = libraries.get(&case.label).cloned().flatten();
    }
    match to_get.into_iter().next() {
        None => Ok((plan, workers)),
        Some((engine, versions)) => {
            let versions: Vec<String> = versions.into_iter().collect();
            let what = format!("{engine} {} is not installed", versions.join(", "));
            let hint = format!("install with `kvdyno engines get {engine} {}`", versions.join(" "));
            Err(Complaint::usage(what).hint(hint).into())
        }
    }
}

/// The worker for a case; none: its version is added to `to_get`.
fn worker(
    case: &Case,
    user_libraries: &NamedLibraries,
    to_get: &mut ToGet,
) -> anyhow::Result<Option<WorkerIdentity>> {
    let cannot = |missing| missing_engine_error(case, missing);
    let Some(recorded) = &case.library else {
        let worker = workers::find(&case.engine)?;
        // The engine was embedded in its worker, and may still be.
        let server = case.server.as_ref().map(|server| Pick::Server(server.reference.clone()));
        let pick = server.unwrap_or(Pick::Newest);
        let needed = WorkerSpec { engine: case.engine.clone(), pick };
        return Ok(Some(choose(worker, &needed)?.map_err(cannot)?));
    };
    let worker = workers::find_for_library(&case.engine)?;
    if let Some(file) = user_libraries.0.get(&case.label) {
        return Ok(Some(with_library_file(worker.path, Path::new(file)).map_err(cannot)?));
    }
    if let Some(installed) = find_equal(&case.engine, recorded) {
        return Ok(Some(with_installed_library(worker.path, &installed).map_err(cannot)?));
    }
    if let CodeSource::Library(plugin) = &worker.source
        && sha256(plugin)? == recorded.sha256
    {
        return Ok(Some(with_library_file(worker.path, plugin).map_err(cannot)?));
    }
    if recorded.is_official() {
        to_get.entry(case.engine.clone()).or_default().insert(recorded.version.clone());
        return Ok(None);
    }
    let what = format!(
        "{} was loaded from a library of {} {} that is not installed (build {}, SHA-256 {})",
        case.label, case.engine, recorded.version, recorded.build, recorded.sha256
    );
    let hint = format!(
        "use `kvdyno rerun RUN --library {}=PATH`; paths of a record are not loaded",
        case.label
    );
    Err(Complaint::usage(what).hint(hint).into())
}

/// Finds the same file under any name, or for public builds the same version.
fn find_equal(engine: &str, recorded: &Library) -> Option<Installed> {
    let installed = library::list_installed(engine);
    let same_file = installed.iter().find(|library| library.sha256 == recorded.sha256);
    let is_same_version = |other: &&Installed| {
        recorded.build != library::Build::Yours.as_str() && other.version == recorded.version
    };
    same_file.or_else(|| installed.iter().find(is_same_version)).cloned()
}

fn missing_engine_error(case: &Case, missing: Missing) -> Complaint {
    let (engine, label) = (&case.engine, &case.label);
    match missing {
        Missing::NoLibrary(words) => Complaint::usage(format!("{label}: {words}"))
            .hint(format!("`kvdyno engines get {engine}` fetches the newest release")),
        Missing::Unusable(words) => Complaint::usage(format!("{label}: {words}")),
        Missing::NotInstalled { .. } | Missing::TakesNone { .. } => {
            Complaint::usage(format!("{label}: {engine} is not loaded from a library here"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    fn loaded(labels: &[&str]) -> Plan {
        let mut plan = Fixture::new().plan;
        for case in plan.cases.iter_mut().filter(|case| labels.contains(&case.label.as_str())) {
            case.library = Some(Library {
                version: "9.10.0".to_owned(),
                build: "yours".to_owned(),
                sha256: "ab".repeat(32),
                source: None,
                path: "/theirs/librocksdb.so".into(),
            });
        }
        plan
    }

    #[test]
    fn a_library_is_for_the_engine_that_it_names() {
        let labels: BTreeSet<String> =
            Fixture::new().plan.cases.into_iter().map(|case| case.label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let (one, other) = (labels[0], labels[1]);
        let typed = |text: &str| vec![text.to_owned()];
        let only = loaded(&[one]);
        let libraries = NamedLibraries::parse(&typed("/mine/a=b.so"), &only).unwrap();
        assert_eq!(libraries.0[one], Path::new("/mine/a=b.so"));
        let both = loaded(&[one, other]);
        let libraries = NamedLibraries::parse(&typed(&format!("{other}=/mine.so")), &both).unwrap();
        assert_eq!(libraries.0[other], Path::new("/mine.so"));
        let refused = NamedLibraries::parse(&typed("/mine.so"), &both).err().unwrap();
        assert!(refused.hint.unwrap().contains(&format!("{one}, {other}")));
        assert!(NamedLibraries::parse(&typed("/mine.so"), &Fixture::new().plan).is_err());
    }
}
