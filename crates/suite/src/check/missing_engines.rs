//! Reports engines of a suite that are missing.

use crate::written::engine::Engine;
use crate::written::left_out::Absent;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::worker::{Engines, InstalledWorker, Missing};
use kvdyno_record::engine::{Description, Durability};
use kvdyno_record::left_out::LeftOut;

const TO_GET: &str = "`make engines` in kvdyno's sources builds engines, `kvdyno engines list` \
    shows others to get";

/// Returns the engines of a part with their workers, and those left out: missing optional engines,
/// and classes of a list that an engine lacks. Any other missing engine is a mistake.
pub(crate) fn find<'a>(
    part: &'a Part,
    engines: &'a Engines,
    mistakes: &mut Mistakes,
) -> (Vec<(&'a Engine, &'a InstalledWorker)>, Vec<LeftOut>) {
    let (mut runnable, mut left_out) = (Vec::new(), Vec::new());
    let mut leave_out = |engine: &Engine, why: String| {
        let part = part.name().map(str::to_owned);
        left_out.push(Absent::for_reason(why).to_left_out(part, engine.label.0.clone()));
    };
    for engine in &part.typed.engine {
        let name = engine.name.0.as_str();
        match engines.get(name, &engine.pick) {
            Some(Ok(worker)) => match missing_durability(engine, worker.engine()) {
                Some(class) => {
                    leave_out(engine, format!("{name} has no durability {}", class.as_str()));
                }
                None => runnable.push((engine, worker)),
            },
            Some(Err(missing)) if engine.optional => {
                leave_out(engine, missing_reason(name, missing));
            }
            None if engine.optional => {
                leave_out(engine, format!("it has no worker; {TO_GET}"));
            }
            Some(Err(missing)) => refuse(part, engines, engine, missing, mistakes),
            None => refuse_unknown(engines, engine, mistakes),
        }
    }
    (runnable, left_out)
}

/// Refuses an engine that has a worker and cannot run.
fn refuse(
    part: &Part,
    engines: &Engines,
    engine: &Engine,
    missing: &Missing,
    mistakes: &mut Mistakes,
) {
    let (name, span) = (&engine.name.0, &engine.pick.span);
    match missing {
        Missing::NotInstalled { installed } => {
            let versions = uninstalled_versions(part, engines, name);
            // Reports all versions of an engine at once, so that one command installs them.
            if versions.first() == Some(&engine.pick.to_text()) {
                let (all, get) = (versions.join(", "), versions.join(" "));
                let are = if versions.len() == 1 { "is" } else { "are" };
                let installed = match &installed[..] {
                    [] => "nothing".to_owned(),
                    installed => installed.join(", "),
                };
                let mistake = mistakes.at(span, format!("{name} {all} {are} not installed"));
                mistake.label("not installed").help(format!(
                    "install with `kvdyno engines get {name} {get}`; installed: {installed}"
                ));
            }
        }
        Missing::NoLibrary(words) => {
            mistakes
                .at(span, format!("{name}: {words}"))
                .help("use --engine to run only the others");
        }
        Missing::TakesNone { version } => {
            let what = format!("{name} is embedded in its worker and loads no library");
            let mistake = mistakes.at(span, what);
            mistake.label(format!(
                "expected neither a version nor a library: the worker has version {version}"
            ));
        }
        Missing::Unusable(why) if engine.attached_server().is_some() => {
            let mistake = mistakes.at(span, format!("cannot attach {name}: {why}"));
            mistake.help("check the URL in the variable that `attach` names");
        }
        Missing::Unusable(why) => {
            let mistake = mistakes.at(span, format!("cannot load {name}: {why}"));
            mistake.help(format!("`kvdyno engines get {name}` fetches the newest release"));
        }
    }
}

fn refuse_unknown(engines: &Engines, engine: &Engine, mistakes: &mut Mistakes) {
    let name = &engine.name.0;
    let names: Vec<&str> = engines.worker_names.iter().map(String::as_str).collect();
    let workers = match &names[..] {
        [] => "no workers found".to_owned(),
        names => format!("found: {}", names.join(", ")),
    };
    let message =
        format!("cannot find `{name}`: no worker `kvdyno-{name}`, no plugin `libkvdyno-{name}.so`");
    mistakes.unknown(&engine.name.span, message, name, &names).help(format!(
        "{workers}; {TO_GET}; `kvdyno engines --help` says where both are searched; \
         --engine runs only the others"
    ));
}

/// Returns the durability class, if it is of a list and the engine lacks it.
fn missing_durability(engine: &Engine, description: &Description) -> Option<Durability> {
    let class = engine.durability.as_ref().filter(|_| engine.of_classes)?.value;
    (!description.capabilities.durability.contains_key(&class)).then_some(class)
}

/// The reason that an engine with a worker cannot run here.
fn missing_reason(name: &str, missing: &Missing) -> String {
    match missing {
        Missing::Unusable(why) => format!("cannot load its library: {why}"),
        Missing::NoLibrary(words) => words.clone(),
        _ => format!("its library is not installed; `kvdyno engines get {name}` installs it"),
    }
}

/// The versions of one engine that are not installed, each once.
fn uninstalled_versions(part: &Part, engines: &Engines, name: &str) -> Vec<String> {
    let missing = |engine: &&Engine| {
        let state = engines.get(name, &engine.pick);
        engine.name.0 == name && matches!(state, Some(Err(Missing::NotInstalled { .. })))
    };
    let missing = part.typed.engine.iter().filter(missing);
    let mut versions: Vec<String> = missing.map(|engine| engine.pick.to_text()).collect();
    // With lists of options, each version occurs several times.
    versions.dedup();
    versions
}
