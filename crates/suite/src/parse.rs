//! The first gate: turns text and arguments into a suite that is valid on any machine.

use super::adjust;
use super::brief::{self, Quick};
use super::check::{check, check_mentions, drop_unswept};
use super::claim::{self, Names};
use super::count;
use super::db_bench;
use super::engine::Engine;
use super::fidelity::{self, Fidelity};
use super::media;
use super::mistake::{Mistakes, SuiteError};
use super::names::push_unique;
use super::part::{self, Document};
use super::read::{At, FromToml};
use super::scalar::Name;
use super::select::{Picks, select_engines};
use super::set::Argument;
use super::source::Source;
use super::typed::Typed;
use super::wanted::{Pick, WantedWorker};
use kvdyno_record::claim::Claim;
use kvdyno_record::column::ColumnName;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::plan::Counting;
use kvdyno_record::units::Ratio;
use serde_spanned::Spanned;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Changes that the command line makes to a suite.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--set path=value`, in order; later ones win.
    pub set: Vec<String>,
    /// `--set-db_bench`: flags of `db_bench`, applied before `set`.
    pub db_bench: Vec<String>,
    /// The files that those flags name with `--options_file`: path and text.
    pub options_files: Vec<(String, String)>,
    /// `--threads 1,2`: replaces `run.threads`.
    pub threads: Vec<u32>,
    /// `--trials N`: replaces `run.trials`.
    pub trials: Option<u32>,
    /// `--data-dir DIR`: replaces `data_dir.path`.
    pub data_dir: Option<PathBuf>,
    /// `--part a,b`: only these parts. Empty: all.
    pub parts: Vec<String>,
    /// `--phases a,b`: replaces `run.phases`, in every part. Empty: as in the suite.
    pub phases: Vec<String>,
    /// `--engine a,b`: only these, by label or name. Empty: all.
    pub engines: Vec<String>,
    /// The engines with a worker on this machine: `engines` may add these to a suite.
    pub installed: Vec<String>,
    /// `--medium flash=/dev/nvme1n1`: the path of a medium of the suite.
    pub media: Vec<String>,
    /// `--duration 30s`: replaces `duration` and `operations` of every measured phase.
    pub duration: Option<String>,
    /// `--hours 24`: duration of every measured phase, with one window per hour.
    pub hours: Option<u32>,
    /// `--quick` on a machine with this many processors: phases of seconds, few thread counts, one
    /// trial.
    pub quick: Option<u32>,
    /// `--scale 1/1000`: scales records, data size, absolute RAM limits and operation counts.
    /// Times, rates and options stay.
    pub scale: Option<Ratio>,
    /// `--no-ram-limit`: removes the suite's limits. Data keeps the size that it has with them.
    pub no_ram_limit: bool,
    /// `--count`, `--count=processor`: counts instructions.
    pub count: Option<Counting>,
}

/// A valid suite, as typed: values keep their positions for messages, and defaults are not filled
/// in.
#[derive(Clone, Debug)]
pub struct Suite {
    pub(super) source: Source,
    /// At least one.
    pub(super) parts: Vec<Part>,
    /// Additions by the command line, as text.
    pub(super) notes: Vec<String>,
    pub(super) claims: Vec<Claim>,
    data_dir: Option<PathBuf>,
}

/// A part of a suite, with everything that it inherits from the suite; the whole suite if it has no
/// parts.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: Option<At<Name>>,
    pub(super) typed: Typed,
    pub(super) fidelity: Fidelity,
    pub(super) scale: Ratio,
    pub(super) no_ram_limit: bool,
    /// Paths of its media and dropped settings, as text.
    pub(super) notes: Vec<String>,
    /// Engines left out because a medium is missing.
    pub(super) left_out: Vec<LeftOut>,
}

impl Part {
    fn new(
        name: Option<At<Name>>,
        fidelity: Fidelity,
        typed: Typed,
        overrides: &Overrides,
    ) -> Self {
        Self {
            name,
            typed,
            fidelity,
            scale: overrides.scale.unwrap_or(Ratio::ONE),
            no_ram_limit: overrides.no_ram_limit || overrides.is_counted(),
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

impl Overrides {
    /// Instructions are counted instead of times.
    pub fn is_counted(&self) -> bool {
        self.count == Some(Counting::Valgrind)
    }
}

impl Suite {
    /// Reads a suite. `file` is its name in messages.
    pub fn parse(file: &str, text: &str, overrides: &Overrides) -> Result<Self, SuiteError> {
        let mut source = Source::new(file, text);
        let mut mistakes = Mistakes::default();
        let arguments = arguments(overrides, &mut source, &mut mistakes);
        let document = document_of(text, &mut mistakes);
        mistakes.none(&source)?;

        let mut mistakes = Mistakes::default();
        let span = document.span();
        let mut document = document.into_inner();
        let (inclusions, others): (Vec<&Argument>, Vec<_>) =
            arguments.iter().partition(|argument| argument.includes());
        for argument in inclusions {
            argument.apply(&mut document, &mut mistakes);
        }
        let included = fidelity::included(&document, &mut source, &mut mistakes);
        fidelity::include(&mut document, &included);
        let (flags, files) = of_db_bench(overrides, &mut document, &mut source, &mut mistakes);
        let (requested, installed) = (&overrides.engines, &overrides.installed);
        // Arguments for an engine that is added below are applied after that.
        let (of_added, others): (Vec<&Argument>, Vec<_>) = others
            .into_iter()
            .partition(|argument| adjust::is_of_added(argument.path(), requested, &document));
        flags.iter().chain(others).for_each(|set| set.apply(&mut document, &mut mistakes));
        drop_overridden_keys(overrides, &mut document);
        let engines =
            requested.iter().map(String::as_str).chain(overrides.is_counted().then_some("null"));
        let mut notes = adjust::add_engines(&mut document, engines, installed, &mut source);
        notes.extend(files);
        for argument in of_added {
            argument.apply(&mut document, &mut mistakes);
        }
        let claims = claim::take_claims(&mut document, &mut mistakes);
        let mut documents = part::split(document, &mut mistakes);
        let names = Names::collect(&documents);
        part::only(&mut documents, &overrides.parts, &mut mistakes);
        notes.extend(set_lengths(&mut documents, overrides, &mut source, &mut mistakes));
        let read = documents.into_iter().map(|document| {
            let tables = Spanned::new(span.clone(), DeValue::Table(document.tables));
            let typed = Typed::from_toml(tables, &mut mistakes)?;
            Some((Part::new(document.name, document.fidelity, typed, overrides), document.picks))
        });
        let read: Option<Vec<(Part, Picks)>> = read.collect::<Vec<_>>().into_iter().collect();
        mistakes.none(&source)?;

        let mut mistakes = Mistakes::default();
        // A suite without mistakes was read.
        let Some(read) = read else { return Err(SuiteError::new(&source, mistakes)) };
        let mut parts = Vec::new();
        let names = names.with(read.iter().map(|(part, _)| &part.typed));
        let claims =
            claim::read(&claims, &names, overrides.scale.unwrap_or(Ratio::ONE), &mut mistakes);
        for (mut part, picks) in read {
            check_mentions(&part.typed, &mut mistakes);
            picks.apply(&mut part.typed, &mut mistakes);
            media::give(&mut part, &mut mistakes);
            parts.push(part);
        }
        select_engines(&mut parts, requested, installed, &mut mistakes);
        for part in &mut parts {
            part.notes.extend(drop_unswept(&mut part.typed));
            check(&part.typed, &mut mistakes);
        }
        mistakes.none(&source)?;
        Ok(Self { source, parts, notes, claims, data_dir: overrides.data_dir.clone() })
    }

    /// The settings that all parts share.
    fn typed(&self) -> &Typed {
        &self.parts[0].typed
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.typed().suite.name.0
    }

    /// One line about it; empty where it has none.
    pub fn title(&self) -> &str {
        self.typed().suite.title.as_ref().map_or("", |title| title.as_str())
    }

    /// Additional columns of its tables.
    pub(super) fn columns(&self) -> Vec<ColumnName> {
        let columns = self.typed().show.columns.iter().flat_map(|columns| columns.iter());
        columns.map(|column| column.value).collect()
    }

    /// The published study that it repeats.
    pub(super) fn study(&self) -> Option<&str> {
        self.typed().suite.study.as_ref().map(|study| study.as_str())
    }

    /// The directory for databases; none: a directory inside the run's own.
    pub fn data_dir(&self) -> Option<&Path> {
        let typed = self.typed().data_dir.path.as_ref();
        self.data_dir.as_deref().or(typed.map(|directory| Path::new(directory.as_str())))
    }

    /// The workers that the suite needs, each once for each library that it loads.
    pub fn wanted(&self) -> Vec<WantedWorker> {
        let worker = |engine: &Engine| WantedWorker {
            engine: engine.name.0.clone(),
            pick: engine.pick.value.clone(),
        };
        let typed = || self.parts.iter().map(|part| &part.typed);
        let drive = typed().filter_map(|typed| typed.drive.as_ref());
        let drive = drive.flat_map(|drive| drive.workers());
        let drive =
            drive.map(|name| WantedWorker { engine: (*name).to_owned(), pick: Pick::Newest });
        let engines = typed().flat_map(|typed| &typed.engine).map(worker);
        let mut workers: Vec<WantedWorker> = engines.chain(drive).collect();
        workers.sort_unstable();
        workers.dedup();
        workers
    }
}

/// The text as a table.
fn document_of<'i>(text: &'i str, mistakes: &mut Mistakes) -> Spanned<DeTable<'i>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        mistakes.at(&span, "this is not TOML").label(error.message());
    }
    document
}

/// All arguments as `path=value`.
fn arguments(overrides: &Overrides, source: &mut Source, mistakes: &mut Mistakes) -> Vec<Argument> {
    let mut texts: Vec<(&str, String)> =
        overrides.set.iter().map(|text| ("--set", text.clone())).collect();
    texts.extend(overrides.media.iter().map(|medium| ("--medium", format!("media.{medium}"))));
    if !overrides.threads.is_empty() {
        texts.push(("--threads", format!("run.threads={:?}", overrides.threads)));
    }
    if !overrides.phases.is_empty() {
        texts.push(("--phases", format!("run.phases={:?}", overrides.phases)));
    }
    if let Some(trials) = overrides.trials {
        texts.push(("--trials", format!("run.trials={trials}")));
    }
    texts.iter().filter_map(|(flag, text)| Argument::new(flag, text, source, mistakes)).collect()
}

/// Sets the length of all phases. Returns the changes of `--quick` and `--count`, a sentence each.
fn set_lengths<'i>(
    documents: &mut [Document<'i>],
    overrides: &'i Overrides,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> Vec<String> {
    let shortened = shorten(documents, overrides, source);
    if let Some(hours) = overrides.hours {
        set_hours(documents, hours, source, mistakes);
    }
    if let Some(duration) = &overrides.duration {
        set_duration(documents, duration, source, mistakes);
    }
    let counted = overrides.count.and_then(|counting| count::bend(documents, counting, source));
    shortened.into_iter().chain(counted).collect()
}

/// Shortens every part for `--quick`. Returns the changes as a sentence.
fn shorten(
    documents: &mut [Document<'_>],
    overrides: &Overrides,
    source: &mut Source,
) -> Option<String> {
    let cpus = overrides.quick?;
    let start = source.add("--quick", "--quick");
    let span = &(start..start + "--quick".len());
    let threads_given = !overrides.threads.is_empty();
    let trials_given = overrides.trials.is_some();
    let quick = Quick { cpus, span, threads_given, trials_given };
    let mut words: Vec<String> = Vec::new();
    for document in documents {
        for change in brief::shorten(&mut document.tables, quick) {
            push_unique(&mut words, change);
        }
    }
    let changed = if words.is_empty() { "nothing to shorten".to_owned() } else { words.join("; ") };
    Some(format!("--quick: {changed}"))
}

/// Sets every measured phase of every part to this many hours.
fn set_hours(
    documents: &mut [Document<'_>],
    hours: u32,
    source: &mut Source,
    mistakes: &mut Mistakes,
) {
    let typed = hours.to_string();
    let start = source.add("--hours", &typed);
    let span = start..start + typed.len();
    let set = |document: &mut Document<'_>| brief::set_hours(&mut document.tables, hours, &span);
    if documents.iter_mut().map(set).sum::<usize>() == 0 {
        let mistake = mistakes.at(&span, "the suite has no measure phase to set the hours of");
        mistake.label("expected a suite with a measure phase");
    }
}

/// The arguments for flags of `db_bench`, and notes about the files that they name. `--set` and
/// similar options are applied later.
fn of_db_bench(
    overrides: &Overrides,
    suite: &mut DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<Argument>, Vec<String>) {
    let (texts, notes) = db_bench::arguments(overrides, suite, source, mistakes);
    db_bench::for_all_parts(&texts, suite);
    let argument = |text: &String| Argument::new(db_bench::OPTION, text, source, mistakes);
    (texts.iter().filter_map(argument).collect(), notes)
}

/// Options for `[run]` apply to each part and override the part's own keys.
fn drop_overridden_keys(overrides: &Overrides, suite: &mut DeTable<'_>) {
    let overridden = [
        (!overrides.threads.is_empty(), "threads"),
        (overrides.trials.is_some(), "trials"),
        (!overrides.phases.is_empty(), "phases"),
    ];
    for (_, key) in overridden.into_iter().filter(|(overridden, _)| *overridden) {
        adjust::take_from_parts(suite, key);
    }
}

/// Sets the duration of every measured phase of every part.
fn set_duration<'i>(
    documents: &mut [Document<'i>],
    duration: &'i str,
    source: &mut Source,
    mistakes: &mut Mistakes,
) {
    let start = source.add("--duration", duration);
    let span = start..start + duration.len();
    let set =
        |document: &mut Document<'i>| adjust::set_duration(&mut document.tables, duration, &span);
    let measured: usize = documents.iter_mut().map(set).sum();
    if measured == 0 {
        let mistake = mistakes.at(&span, "the suite has no measure phase to set the duration of");
        mistake.label(
            "expected a suite with a measure phase; use `--set drive.duration=` for [drive]",
        );
    }
}
