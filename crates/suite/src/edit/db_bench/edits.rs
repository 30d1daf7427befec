//! The changes that flags make to a suite.

use super::engine_flags::COMPRESSIONS;
use super::flags::{self, Flag};
use super::options_file::{self, OptionsFile, equal};
use super::other_flags::{MIXGRAPH_DEFAULTS, OF_MIXGRAPH};
use super::words::Typed;
use super::workload::{Workload, switch};
use super::{FLAG_FILE, OPTIONS_FILE};
use crate::edit::adjust::get_str;
use crate::edit::overrides::Overrides;
use crate::written::mistake::{Mistakes, closest};
use crate::written::source::Span;
use strsim::damerau_levenshtein;
use toml::de::DeTable;

/// The engine that has these options.
const ENGINE: &str = "rocksdb";

/// The option that contains table options, in `RocksDB`'s own string form.
const FILTER: &str = "block_based_table_factory.filter_policy";

/// Collects the changes that flags make to a suite.
pub(super) struct FlagEdits<'s, 'i> {
    pub(super) suite: &'s DeTable<'i>,
    /// `--phases`, which replaces `--benchmarks`.
    pub(super) phases_override: &'s [String],
    /// kvdyno's `--threads`, which replaces that of the flags.
    pub(super) threads_override: &'s [u32],
    pub(super) set: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Names of flags that change nothing here.
    pub(super) left_out: Vec<String>,
    pub(super) workload: Workload,
    /// Names of flags that the engine sets by itself, with the reason.
    automatic: Vec<(String, &'static str)>,
    /// Options that are passed on in the engine's `options`, by path: `compression_opts.level`.
    passed_on: Vec<(String, String)>,
}

impl<'s, 'i> FlagEdits<'s, 'i> {
    pub(super) fn new(suite: &'s DeTable<'i>, overrides: &'s Overrides) -> Self {
        Self {
            suite,
            phases_override: &overrides.phases,
            threads_override: &overrides.threads,
            set: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
            workload: Workload::default(),
            automatic: Vec::new(),
            passed_on: Vec::new(),
        }
    }

    pub(super) fn apply_flags(&mut self, flags: &[Typed], mistakes: &mut Mistakes) {
        let may_be_unknown: Vec<&str> = flags
            .iter()
            .filter(|flag| flag.name == "undefok")
            .flat_map(|flag| flag.value().split(','))
            .collect();
        for flag in flags {
            self.apply_typed(flag, &may_be_unknown, mistakes);
        }
    }

    fn apply_typed(&mut self, typed: &Typed, may_be_unknown: &[&str], mistakes: &mut Mistakes) {
        let name = typed.name.as_str();
        let off = name.strip_prefix("no").filter(|_| typed.value.is_none());
        let off = off.and_then(flags::find).filter(Flag::is_switch);
        let (flag, value) = match (flags::find(name), off) {
            (Some(flag), _) => (flag, typed.value()),
            (None, Some(flag)) => (flag, "false"),
            (None, None) if may_be_unknown.contains(&name) => {
                self.left_out.push(name.to_owned());
                return;
            }
            (None, None) => return refuse_unknown(typed, mistakes),
        };
        let is_left_out = matches!(flag, Flag::Harmless | Flag::HarmlessSwitch);
        let outcome = if value.contains('$') && !is_left_out {
            Err("expected a value in place of the shell's variable".to_owned())
        } else if typed.value.is_none() && !flag.is_switch() && !matches!(flag, Flag::Nothing(_)) {
            Err("expected a value".to_owned())
        } else {
            self.apply(name, flag, value, &typed.span)
        };
        let Err(expected) = outcome else { return };
        let message = match flag {
            Flag::Nothing(_) if name != OPTIONS_FILE && name != FLAG_FILE => {
                format!("`--{name}` has no equivalent in kvdyno")
            }
            _ if typed.value.is_none() && !flag.is_switch() => format!("`--{name}` has no value"),
            _ => format!("`--{name}` cannot be `{value}`"),
        };
        mistakes.at(&typed.span, message).label(expected);
    }

    /// Applies a flag. `Err`: the expected value.
    fn apply(&mut self, name: &str, flag: Flag, value: &str, span: &Span) -> Result<(), String> {
        match flag {
            Flag::Count(path) => {
                let is_count = value.starts_with(|digit: char| digit.is_ascii_digit())
                    && value.chars().all(|c| c.is_ascii_alphanumeric() || "._+".contains(c));
                if !is_count {
                    return Err("expected a whole number".to_owned());
                }
                if name == "num" {
                    self.workload.records = Some(value.to_owned());
                }
                self.set.push(format!("{path}={value}"));
            }
            Flag::Number(path) => {
                value.parse::<f64>().map_err(|_| "expected a number")?;
                self.set.push(format!("{path}={value}"));
            }
            Flag::Work(work) => self.work(work, value, span)?,
            Flag::Harmless => self.left_out.push(name.to_owned()),
            Flag::HarmlessSwitch => {
                switch(value)?;
                self.left_out.push(name.to_owned());
            }
            Flag::Automatic(why) => self.automatic.push((name.to_owned(), why)),
            Flag::Only(values, why) => {
                if !values.iter().any(|only| equal(value, only)) {
                    return Err(match values.first() {
                        Some(only) if !only.is_empty() => format!("expected {only}: {why}"),
                        _ => format!("expected no value: {why}"),
                    });
                }
                self.left_out.push(name.to_owned());
            }
            Flag::OnlySwitch(only, why) => {
                if switch(value)? != only {
                    return Err(format!("expected {only}: {why}"));
                }
                self.left_out.push(name.to_owned());
            }
            Flag::Published(published) => {
                if !equal(value, published) {
                    return Err(format!("expected {published}: {OF_MIXGRAPH}"));
                }
                self.left_out.push(name.to_owned());
            }
            Flag::Nothing(why) => return Err(why.to_owned()),
            _ => self.engine_flag(flag, value)?,
        }
        Ok(())
    }

    /// Applies a flag of the engine. `Err`: the expected value.
    fn engine_flag(&mut self, flag: Flag, value: &str) -> Result<(), String> {
        match flag {
            Flag::Least(name) => {
                let number: f64 = value.parse().map_err(|_| "expected a number")?;
                self.option(name, if number < 0.0 { "0" } else { value })
            }
            Flag::Positive(name) if value == "0" => self.option(name, ""),
            Flag::Option(name) | Flag::Positive(name) => self.option(name, value),
            Flag::Switch(name) => self.option(name, if switch(value)? { "true" } else { "false" }),
            Flag::EitherWord(name, words) => self.option(name, words[usize::from(switch(value)?)]),
            Flag::PowerOrAuto(name) => {
                let power: i32 = value.parse().map_err(|_| "expected a whole number")?;
                self.option(name, if power < 0 { "auto" } else { value })
            }
            Flag::Numbered(name, first, words) => {
                word_by_number(value, first, words).and_then(|word| self.option(name, word))
            }
            Flag::Percent(name) => {
                let share: f64 = value.parse().map_err(|_| "expected a share from 0 to 1")?;
                self.option(name, &format!("{:.0}", share * 100.0))
            }
            Flag::Transactions(kind) => {
                let kind = if switch(value)? { kind } else { "off" };
                self.option("transactions", kind)
            }
            Flag::OwnPositive(name) if value == "0" => {
                self.passed_on.retain(|(other, _)| other != name);
                Ok(())
            }
            Flag::Own(name) | Flag::OwnPositive(name) => {
                let is_single = !value.is_empty() && !value.contains([';', '{', '}']);
                is_single
                    .then(|| self.set_engine_option(name, value))
                    .ok_or("expected one value".to_owned())
            }
            Flag::OwnSwitch(name) => {
                let word = if switch(value)? { "true" } else { "false" };
                self.set_engine_option(name, if matches!(value, "0" | "1") { value } else { word });
                Ok(())
            }
            Flag::OwnNumbered(name, words) => {
                self.set_engine_option(name, word_by_number(value, 0, words)?);
                Ok(())
            }
            Flag::OwnWords(name, words) => {
                let word = words.iter().find(|(word, _)| *word == value);
                let all = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
                let (_, word) = word.ok_or_else(|| format!("expected {}", all()))?;
                self.set_engine_option(name, word);
                Ok(())
            }
            Flag::OwnIf(options) => {
                for (name, value) in options.iter().filter(|_| switch(value) == Ok(true)) {
                    self.set_engine_option(name, value);
                }
                switch(value).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Applies an options file.
    pub(super) fn apply_file(
        &mut self,
        path: &str,
        file: &OptionsFile,
        span: &Span,
        mistakes: &mut Mistakes,
    ) {
        self.notes.extend(file.notes(path));
        let error = file.options.iter().find_map(|(name, value)| self.option(name, value).err());
        if let Some(expected) = error {
            mistakes
                .at(span, format!("cannot use `--{OPTIONS_FILE}` with this suite"))
                .label(expected);
        }
        for (name, value) in &file.passed_on {
            self.set_engine_option(name, value);
        }
    }

    /// Sets an option in the engine's `options`, replacing an earlier value.
    fn set_engine_option(&mut self, name: &str, value: &str) {
        self.passed_on.retain(|(other, _)| other != name);
        self.passed_on.push((name.to_owned(), value.to_owned()));
    }

    /// Sets an option of every `rocksdb` engine in the suite.
    pub(super) fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.set_in_engines(&format!("options.{name}"), value)
    }

    pub(super) fn set_in_engines(&mut self, key: &str, value: &str) -> Result<(), String> {
        let engines = self.suite.get("engine").and_then(|engines| engines.get_ref().as_array());
        let engines = engines.into_iter().flat_map(|engines| engines.iter()).enumerate();
        let engines = engines.filter(|(_, engine)| {
            let table = engine.get_ref().as_table();
            table.is_some_and(|table| get_str(table, "name") == Some(ENGINE))
        });
        let before = self.set.len();
        self.set.extend(engines.map(|(index, _)| format!("engine.{index}.{key}={value}")));
        let none = "expected a suite with engine `rocksdb`: only this engine has the option";
        if self.set.len() == before { Err(none.to_owned()) } else { Ok(()) }
    }

    /// Applies flags that depend on others, and returns the arguments and the notes.
    pub(super) fn finish(
        mut self,
        flags: &[Typed],
        mistakes: &mut Mistakes,
    ) -> (Vec<String>, Vec<String>) {
        self.note_mixgraph(flags);
        self.finish_workload(mistakes);
        self.finish_filter(flags);
        self.finish_compression(flags, mistakes);
        if !self.passed_on.is_empty() {
            let options =
                self.passed_on.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let options = options_file::format_options(&options.collect::<Vec<_>>());
            let _ = self.option("options", &format!("{options:?}"));
        }
        self.notes.extend(left_out_note(&self.left_out, &self.automatic));
        (self.set, self.notes)
    }

    /// Notes that mixgraph has its published parameters where `db_bench` has others by default.
    fn note_mixgraph(&mut self, flags: &[Typed]) {
        let is_named =
            last_value(flags, "benchmarks").is_some_and(|list| list.contains("mixgraph"));
        if is_named {
            self.notes.push("mixgraph's keys and values have the lengths in [data]".to_owned());
        }
        let absent = MIXGRAPH_DEFAULTS.into_iter().filter(|name| last_value(flags, name).is_none());
        let absent: Vec<String> = absent.map(|name| format!("--{name}")).collect();
        if is_named && !absent.is_empty() {
            self.notes.push(format!(
                "mixgraph has its published parameters, also where db_bench has others by \
                 default: {}",
                absent.join(", ")
            ));
        }
    }

    /// Sets the filter, which follows from two flags.
    fn finish_filter(&mut self, flags: &[Typed]) {
        let is_ribbon =
            last_value(flags, "use_ribbon_filter").is_some_and(|on| switch(on) == Ok(true));
        let bits = last_value(flags, "bloom_bits").and_then(|bits| bits.parse::<f64>().ok());
        if let Some(bits) = bits.filter(|bits| is_ribbon && *bits > 0.0) {
            self.set_engine_option(FILTER, &format!("ribbonfilter:{bits}"));
        }
    }

    /// Sets the compression of each level: none before `min_level_to_compress`, then the chosen
    /// one.
    fn finish_compression(&mut self, flags: &[Typed], mistakes: &mut Mistakes) {
        let Some(flag) = flags.iter().rfind(|flag| flag.name == "min_level_to_compress") else {
            return;
        };
        let levels =
            last_value(flags, "num_levels").and_then(|levels| levels.parse().ok()).unwrap_or(7);
        let first = flag.value().parse::<i64>().map_or(i64::MAX, |first| first);
        let kind = last_value(flags, "compression_type").unwrap_or("snappy");
        let kind = COMPRESSIONS.iter().find(|(word, _)| *word == kind);
        match kind {
            _ if first > levels => {
                let message = format!("`--min_level_to_compress` cannot be `{}`", flag.value());
                mistakes.at(&flag.span, message).label(format!("expected -1 to {levels}"));
            }
            Some((_, kind)) if first > 0 => {
                let kinds =
                    (0..levels).map(|level| if level < first { COMPRESSIONS[0].1 } else { kind });
                let kinds: Vec<&str> = kinds.collect();
                self.set_engine_option("compression_per_level", &kinds.join(":"));
            }
            // One compression for all levels; an unknown one is refused elsewhere.
            _ => {}
        }
    }
}

/// Returns the last value of a flag, which is the effective one.
fn last_value<'t>(flags: &'t [Typed], name: &str) -> Option<&'t str> {
    flags.iter().rfind(|flag| flag.name == name).map(Typed::value)
}

/// Returns one note on all flags that have no effect; `None`: there are none.
fn left_out_note(left_out: &[String], automatic: &[(String, &'static str)]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let plain = left_out.iter().map(|name| format!("--{name}"));
    let reasons = automatic.iter().map(|(name, why)| format!("--{name} ({why})"));
    for name in plain.chain(reasons).filter(|name| !name.is_empty()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty())
        .then(|| format!("flags of db_bench without effect here: {}", names.join(", ")))
}

/// Returns the word for a number; numbers start at `first`.
fn word_by_number(
    value: &str,
    first: usize,
    words: &'static [&'static str],
) -> Result<&'static str, String> {
    let index = value.parse().ok().and_then(|number: usize| number.checked_sub(first));
    let all = || (first..).zip(words).map(|(number, word)| format!("{number} ({word})"));
    let word = index.and_then(|index| words.get(index));
    word.copied().ok_or_else(|| format!("expected {}", all().collect::<Vec<_>>().join(" or ")))
}

fn refuse_unknown(typed: &Typed, mistakes: &mut Mistakes) {
    let names: Vec<&str> = flags::all().map(|(name, _)| name).collect();
    let mistake = mistakes.at(&typed.span, format!("db_bench has no flag `--{}`", typed.name));
    if let Some(closest) = closest_name(&typed.name, &names) {
        mistake.label(format!("did you mean `--{closest}`?"));
    }
    mistake.help(
        "for a RocksDB option without a flag: --set engine.rocksdb.options.options=\"name=value\"",
    );
}

/// Returns the name that was probably meant. At most two letters may differ, because names that
/// share a word mean different things.
pub(super) fn closest_name<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    closest(name, names).filter(|near| damerau_levenshtein(name, near) <= 2)
}
