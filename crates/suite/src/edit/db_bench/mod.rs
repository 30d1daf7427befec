//! `--set-db_bench "--block_size=8192 --num=1000000"`: changes a suite by the flags of `db_bench`.
//! Each flag becomes a `path=value` of `--set`.

mod flags;
mod options_file;
#[cfg(test)]
mod tests;

use crate::edit::adjust::{self, word};
use crate::edit::overrides::Overrides;
use crate::written::mistake::Mistakes;
use crate::written::source::{Source, Span};
use flags::{FLAGS, Flag, Work};
use options_file::OptionsFile;
use toml::de::{DeTable, DeValue};

/// The option that passes the flags.
pub(crate) const OPTION: &str = "--set-db_bench";

/// The flag that names a file of options.
const OPTIONS_FILE: &str = "options_file";

/// The engine that has these options.
const ENGINE: &str = "rocksdb";

/// The options of engine `rocksdb` that flags of `db_bench` set, each once.
pub fn db_bench_options() -> Vec<&'static str> {
    let options = FLAGS.iter().filter_map(|(_, flag)| match flag {
        Flag::Option(name)
        | Flag::Least(name)
        | Flag::Switch(name)
        | Flag::Numbered(name, _, _)
        | Flag::Percent(name) => Some(*name),
        Flag::Transactions(_) => Some("transactions"),
        Flag::Own(_) => Some("options"),
        Flag::Key(_) | Flag::Work(_) | Flag::Nothing(_) => None,
    });
    let mut options: Vec<&str> = options.collect();
    options.sort_unstable();
    options.dedup();
    options
}

/// A flag as typed.
struct Typed<'t> {
    name: &'t str,
    /// None: a flag without a value, which is on.
    value: Option<&'t str>,
    span: Span,
}

/// The flags in a text: a command line, or a file with comments and one flag per line.
fn typed<'t>(text: &'t str, start: usize, mistakes: &mut Mistakes) -> Vec<Typed<'t>> {
    let mut flags = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let comment = line.trim_start().starts_with('#');
        for token in line.split_whitespace().filter(|_| !comment) {
            let begin = start + offset + (token.as_ptr() as usize - line.as_ptr() as usize);
            let span = begin..begin + token.len();
            let Some(flag) = token.strip_prefix("--").or_else(|| token.strip_prefix('-')) else {
                let mistake = mistakes.at(&span, format!("`{token}` is not a flag"));
                mistake.label("expected --name=value");
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            flags.push(Typed { name, value, span });
        }
        offset += line.len();
    }
    flags
}

/// The files that flags name. The caller must supply their texts.
pub fn db_bench_options_files(text: &str) -> Vec<String> {
    let flags = typed(text, 0, &mut Mistakes::default());
    flags.iter().filter_map(options_file_of).map(str::to_owned).collect()
}

fn options_file_of<'t>(flag: &Typed<'t>) -> Option<&'t str> {
    flag.value.filter(|_| flag.name == OPTIONS_FILE)
}

/// Translates the flags into arguments for a suite with these tables. Returns the arguments and
/// notes.
pub(crate) fn arguments(
    overrides: &Overrides,
    suite: &DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<String>, Vec<String>) {
    let mut edits =
        FlagEdits { suite, set: Vec::new(), passed_on: Vec::new(), logged: None, synced: None };
    let texts = overrides.db_bench.iter();
    let texts = texts.flat_map(|text| typed(text, source.add(OPTION, text), mistakes));
    // Flags override files, whatever their order.
    let (files, flags): (Vec<Typed<'_>>, Vec<_>) =
        texts.collect::<Vec<_>>().into_iter().partition(|flag| options_file_of(flag).is_some());
    let mut notes = Vec::new();
    for flag in &files {
        let path = options_file_of(flag).unwrap_or_default();
        let text = overrides.options_files.iter().find(|(name, _)| name == path);
        let Some((_, text)) = text else {
            mistakes.at(&flag.span, format!("{path} was not read")).label("expected a file");
            continue;
        };
        let start = source.add(path, text);
        let file = options_file::read(text, start, &db_bench_options(), mistakes);
        notes.push(edits.take_file(path, file, &flag.span, mistakes));
    }
    let mut threads = None;
    for flag in &flags {
        edits.apply_typed(flag, &mut threads, mistakes);
    }
    notes.extend(threads.filter(|threads| *threads > 1).map(load_note));
    (edits.finish(), notes)
}

/// In `db_bench`, each thread of a fill writes `num` keys.
fn load_note(threads: u64) -> String {
    format!(
        "--threads={threads} applies to measured phases: one thread loads `num` records (in \
         db_bench, {threads} threads load `num` records each)"
    )
}

/// Collects the changes that flags make to a suite.
struct FlagEdits<'s, 'i> {
    suite: &'s DeTable<'i>,
    set: Vec<String>,
    /// Options that are passed on in the engine's `options`, by path: `compression_opts.level`.
    passed_on: Vec<(String, String)>,
    logged: Option<bool>,
    synced: Option<bool>,
}

impl FlagEdits<'_, '_> {
    fn apply_typed(
        &mut self,
        typed: &Typed<'_>,
        threads: &mut Option<u64>,
        mistakes: &mut Mistakes,
    ) {
        let find_flag = |flag: &str| FLAGS.iter().find(|(name, _)| *name == flag);
        let off =
            typed.name.strip_prefix("no").filter(|_| typed.value.is_none()).and_then(find_flag);
        let (flag, value) = match (find_flag(typed.name), off) {
            (Some((_, flag)), _) => (flag, typed.value.unwrap_or("true")),
            (None, Some((_, flag))) => (flag, "false"),
            (None, None) => {
                let names: Vec<&str> = FLAGS.iter().map(|(name, _)| *name).collect();
                let message = format!("unknown db_bench flag `--{}`", typed.name);
                let mistake = mistakes.at(&typed.span, message);
                if let Some(closest) = crate::written::mistake::closest(typed.name, &names) {
                    mistake.label(format!("did you mean `--{closest}`?"));
                }
                mistake.help(
                    "for a RocksDB option without a flag: --set \
                     engine.rocksdb.options.options=\"name=value\"",
                );
                return;
            }
        };
        if let Err(expected) = self.apply(*flag, value, threads) {
            let message = format!("`--{}` cannot be `{value}`", typed.name);
            match flag {
                Flag::Nothing(why) => mistakes
                    .at(&typed.span, format!("`--{}` has no equivalent in kvdyno", typed.name))
                    .label(*why),
                _ => mistakes.at(&typed.span, message).label(expected),
            };
        }
    }

    /// Applies a flag. `Err`: the expected value.
    fn apply(&mut self, flag: Flag, value: &str, threads: &mut Option<u64>) -> Result<(), String> {
        match flag {
            Flag::Option(name) => self.option(name, value),
            Flag::Least(name) => {
                let number: f64 = value.parse().map_err(|_| "expected a number")?;
                let least = if number < 0.0 { "0" } else { value };
                self.option(name, least)
            }
            Flag::Switch(name) => self.option(name, if switch(value)? { "true" } else { "false" }),
            Flag::Numbered(name, first, words) => {
                let index = value.parse().ok().and_then(|number: usize| number.checked_sub(first));
                let word = index.and_then(|index| words.get(index));
                let all =
                    || (first..).zip(words).map(|(number, word)| format!("{number} ({word})"));
                match word {
                    Some(word) => self.option(name, word),
                    None => Err(format!("expected {}", all().collect::<Vec<_>>().join(" or "))),
                }
            }
            Flag::Percent(name) => {
                let share: f64 = value.parse().map_err(|_| "expected a share from 0 to 1")?;
                self.option(name, &format!("{:.0}", share * 100.0))
            }
            Flag::Transactions(kind) => {
                let kind = if switch(value)? { kind } else { "off" };
                self.option("transactions", kind)
            }
            Flag::Own(name) => {
                if value.contains([';', '{', '}']) {
                    return Err("expected one value".to_owned());
                }
                self.pass_on(name, value);
                Ok(())
            }
            Flag::Key(path) => {
                self.set.push(format!("{path}={value}"));
                Ok(())
            }
            Flag::Work(work) => self.work(work, value, threads),
            Flag::Nothing(why) => Err(why.to_owned()),
        }
    }

    /// Applies an options file. Returns a note.
    fn take_file(
        &mut self,
        path: &str,
        file: OptionsFile,
        span: &Span,
        mistakes: &mut Mistakes,
    ) -> String {
        let OptionsFile { version, options, passed_on, ignored } = file;
        let cached = options.iter().any(|(name, _)| *name == "block_cache");
        let note = format!(
            "OPTIONS file {path} of RocksDB {}: {} options by name, {} passed on unchanged, \
             {ignored} with RocksDB's defaults or the run's own values{}",
            version.as_deref().unwrap_or("(unknown version)"),
            options.len(),
            passed_on.len(),
            if cached { "" } else { "; the file does not contain the block cache size" },
        );
        let error = options.iter().find_map(|(name, value)| self.option(name, value).err());
        if let Some(expected) = error {
            mistakes
                .at(span, format!("cannot use `--{OPTIONS_FILE}` with this suite"))
                .label(expected);
        }
        for (name, value) in &passed_on {
            self.pass_on(name, value);
        }
        note
    }

    /// Sets an option in the engine's `options`, replacing an earlier value.
    fn pass_on(&mut self, name: &str, value: &str) {
        self.passed_on.retain(|(other, _)| other != name);
        self.passed_on.push((name.to_owned(), value.to_owned()));
    }

    /// Sets an option of every `rocksdb` engine in the suite.
    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.of_engines(&format!("options.{name}"), value)
    }

    fn of_engines(&mut self, key: &str, value: &str) -> Result<(), String> {
        let engines = self.suite.get("engine").and_then(|engines| engines.get_ref().as_array());
        let engines = engines.into_iter().flat_map(|engines| engines.iter()).enumerate();
        let engines = engines.filter(|(_, engine)| {
            let table = engine.get_ref().as_table();
            table.is_some_and(|table| word(table, "name") == Some(ENGINE))
        });
        let before = self.set.len();
        self.set.extend(engines.map(|(index, _)| format!("engine.{index}.{key}={value}")));
        let none = "expected a suite with engine `rocksdb`: only this engine has the option";
        if self.set.len() == before { Err(none.to_owned()) } else { Ok(()) }
    }

    fn work(&mut self, work: Work, value: &str, threads: &mut Option<u64>) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| "expected a whole number".to_owned());
        match work {
            Work::Benchmarks => {
                let names: Vec<&str> = value.split(',').filter(|name| !name.is_empty()).collect();
                names.iter().find_map(|name| no_phase(name)).map_or(Ok(()), Err)?;
                self.set.push(format!("run.phases={names:?}"));
            }
            Work::Threads => {
                *threads = Some(number()?);
                self.set.push(format!("run.threads=[{}]", number()?));
            }
            Work::Seed if number()? == 0 => {
                return Err(
                    "expected a number above 0: in db_bench, 0 means the clock's time".to_owned()
                );
            }
            Work::Seed => self.set.push(format!("data.seed={value}")),
            Work::Duration => {
                let seconds = number()?;
                if seconds > 0 {
                    self.of_measured("duration", &format!("{seconds}s"), "operations");
                }
            }
            Work::Reads => {
                let threads = threads
                    .ok_or("expected `--threads` before it: the number applies to each thread")?;
                let all = number()?.checked_mul(threads).ok_or("expected a smaller number")?;
                self.of_measured("operations", &all.to_string(), "duration");
            }
            Work::BatchSize => {
                let loads = self.phases(|kind| kind == "load");
                let size = number()?;
                self.set.extend(loads.iter().map(|path| format!("{path}.batch={size}")));
                self.named("multireadrandom", &format!("role.readers.mix.0.count={size}"));
            }
            Work::SeekNexts => {
                let length = number()?.saturating_add(1);
                self.named("seekrandom", &format!("role.readers.mix.0.length={length}"));
            }
            Work::ReadWritePercent => {
                let reads = number()?;
                if !(1..100).contains(&reads) {
                    return Err("expected 1 to 99".to_owned());
                }
                let mix = |index, weight| format!("role.clients.mix.{index}.weight={weight}");
                self.named("readrandomwriterandom", &mix(0, reads));
                self.named("readrandomwriterandom", &mix(1, 100 - reads));
            }
            Work::WriteRateLimit => {
                let rate = format!("role.writer.rate={{ bytes_per_s = {} }}", number()?);
                self.named("readwhilewriting", &rate);
            }
            Work::Sync => self.synced = Some(switch(value)?),
            Work::DisableWal => self.logged = Some(!switch(value)?),
        }
        Ok(())
    }

    /// Sets a key of a named phase, if the suite has that phase.
    fn named(&mut self, phase: &str, set: &str) {
        let tables = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        if tables.is_some_and(|tables| tables.contains_key(phase)) {
            self.set.push(format!("phases.{phase}.{set}"));
        }
    }

    /// Sets a key of every measured phase, and removes another.
    fn of_measured(&mut self, key: &str, value: &str, other: &str) {
        for path in self.phases(|kind| kind == "measure") {
            let set = [(other, ""), ("windows", ""), (key, value)];
            self.set.extend(set.map(|(key, value)| format!("{path}.{key}={value}")));
        }
    }

    /// The paths of the suite's phases with these kinds.
    fn phases(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let is = |phase: &DeValue<'_>| {
            let kind = phase.as_table().and_then(|table| word(table, "kind"));
            kind.is_some_and(&is_wanted)
        };
        let listed = self.suite.get("phase").and_then(|phases| phases.get_ref().as_array());
        let listed = listed.into_iter().flat_map(|phases| phases.iter()).enumerate();
        let listed = listed.filter(|(_, phase)| is(phase.get_ref()));
        let named = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        let named = named.into_iter().flat_map(|phases| phases.iter());
        let named = named.filter(|(_, phase)| is(phase.get_ref()));
        listed
            .map(|(index, _)| format!("phase.{index}"))
            .chain(named.map(|(name, _)| format!("phases.{}", name.get_ref())))
            .collect()
    }

    fn finish(mut self) -> Vec<String> {
        let class = match (self.logged, self.synced) {
            (None, None) => None,
            (Some(false), _) => Some("none"),
            (_, Some(true)) => Some("commit"),
            _ => Some("async"),
        };
        // Without such an engine there is no durability to set.
        if let Some(class) = class {
            let _ = self.of_engines("durability", class);
        }
        if !self.passed_on.is_empty() {
            let passed_on =
                self.passed_on.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let passed_on = options_file::nested(&passed_on.collect::<Vec<_>>());
            let _ = self.option("options", &format!("{passed_on:?}"));
        }
        self.set
    }
}

/// On or off, as gflags parses it.
fn switch(value: &str) -> Result<bool, String> {
    match value {
        "1" | "t" | "true" | "y" | "yes" => Ok(true),
        "0" | "f" | "false" | "n" | "no" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// Why a name of `--benchmarks` is no phase here, if known.
fn no_phase(name: &str) -> Option<String> {
    match name {
        "compact" | "compactall" | "waitforcompaction" | "flush" => {
            Some(format!("`{name}` waits for the engine: use a phase of kind settle instead"))
        }
        "stats" | "levelstats" | "sstables" | "memstats" | "stats_history" => {
            Some(format!("`{name}` only prints: leave it out, the record contains the counters"))
        }
        _ => None,
    }
}

/// Removes keys of `[run]` that flags have set from every part.
pub(crate) fn for_all_parts(arguments: &[String], suite: &mut DeTable<'_>) {
    for key in ["threads", "phases"] {
        if arguments.iter().any(|argument| argument.starts_with(&format!("run.{key}="))) {
            adjust::take_from_parts(suite, key);
        }
    }
}
