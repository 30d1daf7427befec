//! What came of looking for a suite's engines, and what is said of those that are not there.

use super::engine::Engine;
use super::mistake::Mistakes;
use super::parse::Part;
use super::wanted::{self, Engines, Missing};

/// The engines of a part with what they say of themselves; a mistake for each that is not there.
pub(super) fn find<'a>(
    part: &'a Part,
    engines: &'a Engines,
    mistakes: &mut Mistakes,
) -> Vec<(&'a Engine, &'a wanted::FoundWorker)> {
    let known: Vec<&str> = engines.known.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for engine in &part.typed.engine {
        let (name, span) = (&engine.name.0, &engine.pick.span);
        match engines.get(name, &engine.pick) {
            Some(Ok(worker)) => found.push((engine, worker)),
            Some(Err(Missing::NotInstalled { installed })) => {
                let versions = not_installed(part, engines, name);
                // All of an engine at once, so that one command fetches them.
                if versions.first() == Some(&engine.pick.words()) {
                    let (all, get) = (versions.join(", "), versions.join(" "));
                    let are = if versions.len() == 1 { "is" } else { "are" };
                    let installed = match &installed[..] {
                        [] => "nothing".to_owned(),
                        installed => installed.join(", "),
                    };
                    let mistake = mistakes.at(span, format!("{name} {all} {are} not installed"));
                    mistake.label("not installed");
                    mistake
                        .help(format!("`kvdyno engines get {name} {get}`; installed: {installed}"));
                }
            }
            Some(Err(Missing::NoLibrary(words))) => {
                mistakes.at(span, format!("{name}: {words}")).help(format!(
                    "`kvdyno engines get {name}` fetches the newest release; --engine runs the \
                     others alone"
                ));
            }
            Some(Err(Missing::TakesNone { version })) => {
                let what = format!("{name} is part of its worker, and loads no library");
                let mistake = mistakes.at(span, what);
                mistake.label(format!("expected neither a version nor a library: it is {version}"));
            }
            Some(Err(Missing::Unusable(why))) => {
                mistakes.at(span, format!("{name} cannot be loaded: {why}"));
            }
            None => {
                let message = format!("there is no worker `kvdyno-{name}`");
                let found = match &known[..] {
                    [] => "none was found".to_owned(),
                    known => format!("found: {}", known.join(", ")),
                };
                mistakes.unknown(&engine.name.span, message, name, &known).help(format!(
                    "{found}; `make engines` builds LMDB and RocksDB, `kvdyno engines` says where \
                     workers are looked for, --engine runs the others alone"
                ));
            }
        }
    }
    found
}

/// The versions of one engine that are not installed, each once.
fn not_installed(part: &Part, engines: &Engines, name: &str) -> Vec<String> {
    let missing = |engine: &&Engine| {
        let found = engines.get(name, &engine.pick);
        engine.name.0 == name && matches!(found, Some(Err(Missing::NotInstalled { .. })))
    };
    let missing = part.typed.engine.iter().filter(missing);
    let mut versions: Vec<String> = missing.map(|engine| engine.pick.words()).collect();
    // With lists of options each version is there several times.
    versions.dedup();
    versions
}
