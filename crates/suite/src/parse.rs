//! The first gate: from text and arguments to a suite that makes sense on any machine.

use super::adjust;
use super::check::check;
use super::drive;
use super::engine::Engine;
use super::mistake::{Mistakes, SuiteError, closest};
use super::read::{FromToml, Toml};
use super::set::Argument;
use super::source::Source;
use super::typed::Typed;
use super::wanted::{Pick, WantedWorker};
use kvdyno_record::units::Ratio;
use serde_spanned::Spanned;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// What the command line changes in a suite.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--set path=value`, in order; later ones win.
    pub set: Vec<String>,
    /// `--threads 1,2`: instead of `run.threads`.
    pub threads: Vec<u32>,
    /// `--trials N`: instead of `run.trials`.
    pub trials: Option<u32>,
    /// `--place DIR`: instead of `place.directory`.
    pub place: Option<PathBuf>,
    /// `--engine a,b`: only these, by label or name. Empty: all.
    pub engines: Vec<String>,
    /// The engines whose workers are found here: of these, `engines` may name some that the suite
    /// lacks.
    pub installed: Vec<String>,
    /// `--duration 30s`: instead of every measured phase's `duration` and `operations`.
    pub duration: Option<String>,
    /// `--scale 1/1000`: of records, data size, absolute RAM limits and operation counts. Times,
    /// rates and options stay as they are.
    pub scale: Option<Ratio>,
    /// `--no-ram-limit`: none of the suite's limits is set. Data keeps the size it has with them.
    pub no_ram_limit: bool,
}

/// A suite that makes sense, as typed: places for messages kept, defaults not yet filled in.
#[derive(Clone, Debug)]
pub struct Suite {
    pub(super) source: Source,
    pub(super) typed: Typed,
    pub(super) scale: Ratio,
    pub(super) no_ram_limit: bool,
    /// What the command line added, in words.
    pub(super) notes: Vec<String>,
    place: Option<PathBuf>,
}

impl Suite {
    /// Reads a suite. `file` is what messages call it.
    pub fn parse(file: &str, text: &str, overrides: &Overrides) -> Result<Self, SuiteError> {
        let mut source = Source::new(file, text);
        let mut mistakes = Mistakes::default();
        let arguments = arguments(overrides, &mut source, &mut mistakes);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            mistakes.at(&span, "this is not TOML").label(error.message());
        }
        mistakes.none(&source)?;

        let mut mistakes = Mistakes::default();
        let span = document.span();
        let mut document = document.into_inner();
        for argument in &arguments {
            argument.apply(&mut document, &mut mistakes);
        }
        if let Some(duration) = &overrides.duration {
            adjust::set_duration(&mut document, duration, &mut source, &mut mistakes);
        }
        let (wanted, installed) = (&overrides.engines, &overrides.installed);
        let notes = adjust::add_engines(&mut document, wanted, installed, &mut source);
        let document: Toml = Spanned::new(span, DeValue::Table(document));
        let typed = Typed::from_toml(document, &mut mistakes);
        mistakes.none(&source)?;

        let mut mistakes = Mistakes::default();
        // A suite without mistakes was read.
        let Some(mut typed) = typed else { return Err(SuiteError::new(&source, mistakes)) };
        select_engines(&mut typed, wanted, installed, &mut mistakes);
        check(&typed, &mut mistakes);
        mistakes.none(&source)?;
        let scale = overrides.scale.unwrap_or(Ratio::ONE);
        let (place, no_ram_limit) = (overrides.place.clone(), overrides.no_ram_limit);
        Ok(Self { source, typed, scale, no_ram_limit, notes, place })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.typed.suite.name.0
    }

    /// One line about it; empty where it has none.
    pub fn title(&self) -> &str {
        self.typed.suite.title.as_ref().map_or("", |title| title.as_str())
    }

    /// The directory that databases are to lie in; none: a folder inside the run's own.
    pub fn place(&self) -> Option<&Path> {
        let typed = self.typed.place.directory.as_ref();
        self.place.as_deref().or(typed.map(|directory| Path::new(directory.as_str())))
    }

    /// The workers that must be found, each once with each library that it is to load.
    pub fn wanted(&self) -> Vec<WantedWorker> {
        let of = |engine: &Engine| WantedWorker {
            engine: engine.name.0.clone(),
            pick: engine.pick.value.clone(),
        };
        let drive = self.typed.drive.iter().flat_map(|drive| drive.workers());
        let drive =
            drive.map(|name| WantedWorker { engine: (*name).to_owned(), pick: Pick::Newest });
        let mut wanted: Vec<WantedWorker> = self.typed.engine.iter().map(of).chain(drive).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

/// All arguments as `path=value`.
fn arguments(overrides: &Overrides, source: &mut Source, mistakes: &mut Mistakes) -> Vec<Argument> {
    let mut texts: Vec<(&str, String)> =
        overrides.set.iter().map(|text| ("--set", text.clone())).collect();
    if !overrides.threads.is_empty() {
        texts.push(("--threads", format!("run.threads={:?}", overrides.threads)));
    }
    if let Some(trials) = overrides.trials {
        texts.push(("--trials", format!("run.trials={trials}")));
    }
    texts.iter().filter_map(|(flag, text)| Argument::new(flag, text, source, mistakes)).collect()
}

/// Leaves out the engines that were not asked for.
fn select_engines(
    typed: &mut Typed,
    wanted: &[String],
    installed: &[String],
    mistakes: &mut Mistakes,
) {
    if wanted.is_empty() {
        return;
    }
    // The drive is asked for as the engine that it is.
    let drive = typed.drive.is_some();
    for name in wanted {
        let is_drive = drive && name == drive::NAME;
        if !is_drive && !typed.engine.iter().any(|engine| engine.is_called(name)) {
            let labels = typed.engine.iter().map(|engine| engine.label.0.as_str());
            let labels: Vec<&str> = labels.chain(drive.then_some(drive::NAME)).collect();
            let installed: Vec<&str> = installed.iter().map(String::as_str).collect();
            let known = [&labels[..], &installed].concat();
            let meant = closest(name, &known).map(|label| format!("did you mean `{label}`? "));
            let message =
                format!("--engine: `{name}` is neither in the suite nor an engine found here");
            mistakes.anywhere(message).help(format!(
                "{}in the suite: {}; found here: {} (`kvdyno engines` says where)",
                meant.unwrap_or_default(),
                one_of(&labels),
                one_of(&installed)
            ));
        }
    }
    typed.engine.retain(|engine| wanted.iter().any(|name| engine.is_called(name)));
    if !wanted.iter().any(|name| name == drive::NAME) {
        typed.drive = None;
    }
}

fn one_of(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
