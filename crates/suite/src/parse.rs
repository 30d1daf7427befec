//! The first gate: turns text and arguments into a suite that is valid on any machine.

use crate::check::claim::{self, Names};
use crate::check::suite::{check, check_mentions};
use crate::edit::adjust;
use crate::edit::db_bench;
use crate::edit::lengths::set_lengths;
use crate::edit::media::set_media;
use crate::edit::named_phases;
use crate::edit::overrides::Overrides;
use crate::edit::part;
use crate::edit::select::{Picks, drop_unswept, select_engines};
use crate::edit::set::Argument;
use crate::edit::ycsb;
use crate::written::claim::ClaimTable;
use crate::written::fidelity::Fidelity;
use crate::written::mistake::{Mistakes, SuiteError};
use crate::written::part::Part;
use crate::written::read::{At, FromToml as _};
use crate::written::scalar::Name;
use crate::written::source::Source;
use crate::written::suite::Suite;
use crate::written::typed::Typed;
use kvdyno_record::plan::Counting;
use kvdyno_record::units::Ratio;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

impl Part {
    fn new(
        name: Option<At<Name>>,
        fidelity: Fidelity,
        typed: Typed,
        overrides: &Overrides,
    ) -> Self {
        let counted = typed.run.count.as_ref().is_some_and(|at| at.value == Counting::Valgrind);
        Self {
            name,
            sweeps: !typed.sweeps().is_empty(),
            typed,
            fidelity,
            scale: overrides.scale.unwrap_or(Ratio::ONE),
            no_ram_limit: overrides.no_ram_limit || counted,
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

impl Suite {
    /// Reads a suite. `file` is its name in messages.
    pub fn parse(file: &str, text: &str, overrides: &Overrides) -> Result<Self, SuiteError> {
        let mut source = Source::new(file, text);
        let mut mistakes = Mistakes::default();
        let arguments = arguments(overrides, &mut source, &mut mistakes);
        let document = parse_document(text, &mut mistakes);
        mistakes.into_result(&source)?;

        let mut mistakes = Mistakes::default();
        let span = document.span();
        let mut document = document.into_inner();
        let (inclusions, others): (Vec<&Argument>, Vec<_>) =
            arguments.iter().partition(|argument| argument.includes());
        for argument in inclusions {
            argument.apply(&mut document, &mut mistakes);
        }
        let included = named_phases::load_included_texts(&document, &mut source, &mut mistakes);
        named_phases::include(&mut document, &included);
        let (flags, files) =
            program_arguments(overrides, &mut document, &mut source, &mut mistakes);
        let (requested, installed) = (&overrides.engines, &overrides.installed);
        // Arguments for an engine that is added below are applied after it is added.
        let (for_added, others): (Vec<&Argument>, Vec<_>) = others
            .into_iter()
            .partition(|argument| adjust::is_of_added(argument.path(), requested, &document));
        flags.iter().chain(others).for_each(|set| set.apply(&mut document, &mut mistakes));
        adjust::drop_overridden_keys(overrides, &mut document);
        let engines =
            requested.iter().map(String::as_str).chain(overrides.is_counted().then_some("null"));
        let added = adjust::add_engines(&mut document, engines, installed, &mut source);
        for argument in for_added {
            argument.apply(&mut document, &mut mistakes);
        }
        let mut notes = [adjust::describe_added(&document, &added), files].concat();
        let claims = ClaimTable::take_from(&mut document, &mut mistakes);
        let names = Names::collect(&document);
        let mut documents = part::split_parts(document, &mut mistakes);
        let names = names.with_parts(&documents);
        part::retain_requested(&mut documents, &overrides.parts, &mut mistakes);
        notes.extend(set_lengths(&mut documents, overrides, &mut source, &mut mistakes));
        let read_parts = documents.into_iter().map(|document| {
            let tables = Spanned::new(span.clone(), DeValue::Table(document.tables));
            let typed = Typed::from_toml(tables, &mut mistakes)?;
            Some((Part::new(document.name, document.fidelity, typed, overrides), document.picks))
        });
        let read_parts: Option<Vec<(Part, Picks)>> =
            read_parts.collect::<Vec<_>>().into_iter().collect();
        mistakes.into_result(&source)?;

        let mut mistakes = Mistakes::default();
        // Without mistakes, every part was read.
        let Some(read_parts) = read_parts else { return Err(SuiteError::new(&source, mistakes)) };
        let mut parts = Vec::new();
        let names = names.with(read_parts.iter().map(|(part, _)| &part.typed));
        let all_parts: Vec<&Part> = read_parts.iter().map(|(part, _)| part).collect();
        let claims = claim::check_claims(&claims, &names, &all_parts, &mut mistakes);
        for (mut part, picks) in read_parts {
            check_mentions(&part.typed, &mut mistakes);
            picks.apply(&mut part.typed, &mut mistakes);
            parts.push(part);
        }
        select_engines(&mut parts, requested, installed, &mut mistakes);
        for part in &mut parts {
            set_media(part, &mut mistakes);
            let unswept = drop_unswept(part);
            part.notes.extend(unswept);
            check(&part.typed, &mut mistakes);
        }
        mistakes.into_result(&source)?;
        Ok(Self { source, parts, notes, claims, data_dir: overrides.data_dir.clone() })
    }
}

/// Parses the text as TOML.
fn parse_document<'i>(text: &'i str, mistakes: &mut Mistakes) -> Spanned<DeTable<'i>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        mistakes.at(&span, "this is not TOML").label(error.message());
    }
    document
}

/// Returns all arguments as `path=value`.
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

/// Returns the arguments for flags of `db_bench` and properties of YCSB, and notes about them.
/// `--set` and similar options are applied later.
fn program_arguments(
    overrides: &Overrides,
    suite: &mut DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<Argument>, Vec<String>) {
    let (flags, flag_notes) = db_bench::arguments(overrides, suite, source, mistakes);
    let (properties, property_notes) = ycsb::arguments(overrides, suite, source, mistakes);
    let mut arguments = Vec::new();
    for (option, texts) in [(db_bench::OPTION, flags), (ycsb::OPTION, properties)] {
        db_bench::drop_part_keys(&texts, suite);
        let argument = |text: &String| Argument::new(option, text, source, mistakes);
        arguments.extend(texts.iter().filter_map(argument));
    }
    (arguments, [flag_notes, property_notes].concat())
}
