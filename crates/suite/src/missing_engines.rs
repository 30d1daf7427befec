//! What came of looking for a suite's engines, and what is said of those that are not there.

use super::engine::Engine;
use super::left_out::Absent;
use super::mistake::Mistakes;
use super::parse::Part;
use super::wanted::{self, Engines, Missing};
use kvdyno_record::engine::{Description, Durability};
use kvdyno_record::left_out::LeftOut;

/// The engines of a part with what they say of themselves, and what is left out: optional ones that
/// are not there, classes of a list that an engine has not. A mistake for each other that is not
/// there.
pub(super) fn find<'a>(
    part: &'a Part,
    engines: &'a Engines,
    mistakes: &mut Mistakes,
) -> (Vec<(&'a Engine, &'a wanted::FoundWorker)>, Vec<LeftOut>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let mut leave_out = |engine: &Engine, why: String| {
        let part = part.name().map(str::to_owned);
        left_out.push(Absent::for_reason(why).to_left_out(part, engine.label.0.clone()));
    };
    for engine in &part.typed.engine {
        let name = engine.name.0.as_str();
        match engines.get(name, &engine.pick) {
            Some(Ok(worker)) => match lacking(engine, worker.engine()) {
                Some(class) => {
                    leave_out(engine, format!("{name} has no durability {}", class.as_str()));
                }
                None => found.push((engine, worker)),
            },
            Some(Err(missing)) if engine.optional => {
                leave_out(engine, why(name, missing));
            }
            None if engine.optional => {
                leave_out(
                    engine,
                    "there is no worker; `make engines` builds the engines".to_owned(),
                );
            }
            Some(Err(missing)) => refuse(part, engines, engine, missing, mistakes),
            None => refuse_unknown(engines, engine, mistakes),
        }
    }
    (found, left_out)
}

/// An engine that has a worker and cannot be run.
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
                mistake
                    .label("not installed")
                    .help(format!("`kvdyno engines get {name} {get}`; installed: {installed}"));
            }
        }
        Missing::NoLibrary(words) => {
            mistakes.at(span, format!("{name}: {words}")).help("--engine runs the others alone");
        }
        Missing::TakesNone { version } => {
            let what = format!("{name} is part of its worker, and loads no library");
            let mistake = mistakes.at(span, what);
            mistake.label(format!("expected neither a version nor a library: it is {version}"));
        }
        Missing::Unusable(why) if engine.attached().is_some() => {
            mistakes.at(span, format!("{name} cannot be attached: {why}"));
        }
        Missing::Unusable(why) => {
            mistakes.at(span, format!("{name} cannot be loaded: {why}"));
        }
    }
}

fn refuse_unknown(engines: &Engines, engine: &Engine, mistakes: &mut Mistakes) {
    let name = &engine.name.0;
    let known: Vec<&str> = engines.known.iter().map(String::as_str).collect();
    let found = match &known[..] {
        [] => "none was found".to_owned(),
        known => format!("found: {}", known.join(", ")),
    };
    let message = format!("there is no worker `kvdyno-{name}`");
    mistakes.unknown(&engine.name.span, message, name, &known).help(format!(
        "{found}; `make engines` builds the engines, `kvdyno engines` says where workers are \
         looked for, --engine runs the others alone"
    ));
}

/// The class that an engine of a list of classes is to have and has not.
fn lacking(engine: &Engine, description: &Description) -> Option<Durability> {
    let class = engine.durability.as_ref().filter(|_| engine.of_classes)?.value;
    (!description.capabilities.durability.contains_key(&class)).then_some(class)
}

/// Why an engine that has a worker cannot be run here.
fn why(name: &str, missing: &Missing) -> String {
    match missing {
        Missing::Unusable(why) => format!("it cannot be loaded: {why}"),
        Missing::NoLibrary(words) => words.clone(),
        _ => format!("its library is not installed; `kvdyno engines get {name}`"),
    }
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
