//! The first gate: from text and arguments to a suite that makes sense on any machine.

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

/// What the command line changes in a suite.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--set path=value`, in order; later ones win.
    pub set: Vec<String>,
    /// `--set-db_bench`: flags of `db_bench`, before all of `set`.
    pub db_bench: Vec<String>,
    /// The files that those flags name with `--options_file`, by path, and their texts.
    pub options_files: Vec<(String, String)>,
    /// `--threads 1,2`: instead of `run.threads`.
    pub threads: Vec<u32>,
    /// `--trials N`: instead of `run.trials`.
    pub trials: Option<u32>,
    /// `--place DIR`: instead of `place.directory`.
    pub place: Option<PathBuf>,
    /// `--part a,b`: only these parts. Empty: all.
    pub parts: Vec<String>,
    /// `--phases a,b`: instead of `run.phases`, in every part. Empty: as the suite has it.
    pub phases: Vec<String>,
    /// `--engine a,b`: only these, by label or name. Empty: all.
    pub engines: Vec<String>,
    /// The engines whose workers are found here: of these, `engines` may name some that the suite
    /// lacks.
    pub installed: Vec<String>,
    /// `--medium flash=/dev/nvme1n1`: what a medium of the suite is here.
    pub media: Vec<String>,
    /// `--duration 30s`: instead of every measured phase's `duration` and `operations`.
    pub duration: Option<String>,
    /// `--hours 24`: every measured phase lasts so long, each hour a window.
    pub hours: Option<u32>,
    /// `--quick` on a machine with so many processors: phases of seconds, few numbers of threads,
    /// one trial.
    pub quick: Option<u32>,
    /// `--scale 1/1000`: of records, data size, absolute RAM limits and operation counts. Times,
    /// rates and options stay as they are.
    pub scale: Option<Ratio>,
    /// `--no-ram-limit`: none of the suite's limits is set. Data keeps the size it has with them.
    pub no_ram_limit: bool,
    /// `--count`, `--count=processor`: instructions are counted.
    pub count: Option<Counting>,
}

/// A suite that makes sense, as typed: places for messages kept, defaults not yet filled in.
#[derive(Clone, Debug)]
pub struct Suite {
    pub(super) source: Source,
    /// At least one.
    pub(super) parts: Vec<Part>,
    /// What the command line added, in words.
    pub(super) notes: Vec<String>,
    pub(super) claims: Vec<Claim>,
    place: Option<PathBuf>,
}

/// A part of a suite, and all that it takes over from the suite; the whole of it where it has no
/// parts.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: Option<At<Name>>,
    pub(super) typed: Typed,
    pub(super) fidelity: Fidelity,
    pub(super) scale: Ratio,
    pub(super) no_ram_limit: bool,
    /// What its media are here, and what of it does not count, in words.
    pub(super) notes: Vec<String>,
    /// What its media being absent leaves out.
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
    /// Instructions are counted in place of times.
    pub fn is_counted(&self) -> bool {
        self.count == Some(Counting::Valgrind)
    }
}

impl Suite {
    /// Reads a suite. `file` is what messages call it.
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
        let (wanted, installed) = (&overrides.engines, &overrides.installed);
        // What is set of an engine that is yet to be added waits for it.
        let (of_added, others): (Vec<&Argument>, Vec<_>) = others
            .into_iter()
            .partition(|argument| adjust::is_of_added(argument.path(), wanted, &document));
        flags.iter().chain(others).for_each(|set| set.apply(&mut document, &mut mistakes));
        say_for_all_parts(overrides, &mut document);
        let asked =
            wanted.iter().map(String::as_str).chain(overrides.is_counted().then_some("null"));
        let mut notes = adjust::add_engines(&mut document, asked, installed, &mut source);
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
        select_engines(&mut parts, wanted, installed, &mut mistakes);
        for part in &mut parts {
            part.notes.extend(drop_unswept(&mut part.typed));
            check(&part.typed, &mut mistakes);
        }
        mistakes.none(&source)?;
        Ok(Self { source, parts, notes, claims, place: overrides.place.clone() })
    }

    /// What counts for all parts.
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

    /// What its tables have besides their own columns.
    pub(super) fn columns(&self) -> Vec<ColumnName> {
        let columns = self.typed().show.columns.iter().flat_map(|columns| columns.iter());
        columns.map(|column| column.value).collect()
    }

    /// The published study that it repeats.
    pub(super) fn study(&self) -> Option<&str> {
        self.typed().suite.study.as_ref().map(|study| study.as_str())
    }

    /// The directory that databases are to lie in; none: a folder inside the run's own.
    pub fn place(&self) -> Option<&Path> {
        let typed = self.typed().place.directory.as_ref();
        self.place.as_deref().or(typed.map(|directory| Path::new(directory.as_str())))
    }

    /// The workers that must be found, each once with each library that it is to load.
    pub fn wanted(&self) -> Vec<WantedWorker> {
        let of = |engine: &Engine| WantedWorker {
            engine: engine.name.0.clone(),
            pick: engine.pick.value.clone(),
        };
        let typed = || self.parts.iter().map(|part| &part.typed);
        let drive = typed().filter_map(|typed| typed.drive.as_ref());
        let drive = drive.flat_map(|drive| drive.workers());
        let drive =
            drive.map(|name| WantedWorker { engine: (*name).to_owned(), pick: Pick::Newest });
        let engines = typed().flat_map(|typed| &typed.engine).map(of);
        let mut wanted: Vec<WantedWorker> = engines.chain(drive).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
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
    texts.extend(overrides.media.iter().map(|given| ("--medium", format!("media.{given}"))));
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

/// How long the phases of every part last; what `--quick` and `--count` changed, a sentence each.
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
    let counted = overrides.count.and_then(|by| count::bend(documents, by, source));
    shortened.into_iter().chain(counted).collect()
}

/// Every part as short as `--quick` has it; what that changed, in a sentence.
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
            if !words.contains(&change) {
                words.push(change);
            }
        }
    }
    let changed = if words.is_empty() { "nothing to shorten".to_owned() } else { words.join("; ") };
    Some(format!("--quick: {changed}"))
}

/// Every measured phase of every part lasts so many hours.
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
        let mistake = mistakes.at(&span, "the suite has no measure phase that could last so long");
        mistake.label("expected a suite with one");
    }
}

/// What flags of `db_bench` come to, and what is to be said of the files that they name; `--set`
/// and the like are applied behind them.
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

/// What the command line says of `[run]` counts for each part, whatever that says itself.
fn say_for_all_parts(overrides: &Overrides, suite: &mut DeTable<'_>) {
    let given = [
        (!overrides.threads.is_empty(), "threads"),
        (overrides.trials.is_some(), "trials"),
        (!overrides.phases.is_empty(), "phases"),
    ];
    for (_, key) in given.into_iter().filter(|(given, _)| *given) {
        adjust::take_from_parts(suite, key);
    }
}

/// Every measured phase of every part lasts so long.
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
        let mistake = mistakes.at(&span, "the suite has no measure phase that could last so long");
        mistake.label("expected a suite with one; `--set drive.duration=` is of its [drive]");
    }
}
