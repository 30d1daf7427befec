//! `--set-db_bench "--block_size=8192 --num=1000000"`: a suite bent by the flags of `db_bench`,
//! each turned into the `path=value` that `--set` takes.

mod flags;
mod options_file;
#[cfg(test)]
mod tests;

use super::adjust::{self, word};
use super::mistake::Mistakes;
use super::parse::Overrides;
use super::source::{Source, Span};
use flags::{FLAGS, Flag, Work};
use options_file::OptionsFile;
use toml::de::{DeTable, DeValue};

/// What the flags come by.
pub(super) const OPTION: &str = "--set-db_bench";

/// The flag that names a file of options.
const OPTIONS_FILE: &str = "options_file";

/// The engine whose options they are.
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
    /// None: it stands alone, and is on.
    value: Option<&'t str>,
    span: Span,
}

/// The flags of a text: of a command line, or of a file with a flag on each line and comments.
fn typed<'t>(text: &'t str, start: usize, mistakes: &mut Mistakes) -> Vec<Typed<'t>> {
    let mut flags = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let comment = line.trim_start().starts_with('#');
        for token in line.split_whitespace().filter(|_| !comment) {
            let begin = start + at + (token.as_ptr() as usize - line.as_ptr() as usize);
            let span = begin..begin + token.len();
            let Some(flag) = token.strip_prefix("--").or_else(|| token.strip_prefix('-')) else {
                let mistake = mistakes.at(&span, format!("`{token}` is no flag of db_bench"));
                mistake.label("expected --name=value");
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            flags.push(Typed { name, value, span });
        }
        at += line.len();
    }
    flags
}

/// The files that flags name, whose texts have to be given with them.
pub fn db_bench_options_files(text: &str) -> Vec<String> {
    let flags = typed(text, 0, &mut Mistakes::default());
    flags.iter().filter_map(options_file_of).map(str::to_owned).collect()
}

fn options_file_of<'t>(flag: &Typed<'t>) -> Option<&'t str> {
    flag.value.filter(|_| flag.name == OPTIONS_FILE)
}

/// The arguments that flags come to, for a suite with these tables, and what is to be said of them.
pub(super) fn arguments(
    overrides: &Overrides,
    suite: &DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<String>, Vec<String>) {
    let mut bend =
        FlagEdits { suite, set: Vec::new(), own: Vec::new(), logged: None, synced: None };
    let texts = overrides.db_bench.iter();
    let texts = texts.flat_map(|text| typed(text, source.add(OPTION, text), mistakes));
    // Flags count over files, wherever they stand.
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
        notes.push(bend.take_file(path, file, &flag.span, mistakes));
    }
    let mut threads = None;
    for flag in &flags {
        bend.apply_typed(flag, &mut threads, mistakes);
    }
    notes.extend(threads.filter(|threads| *threads > 1).map(load_note));
    (bend.finish(), notes)
}

/// There each thread of a fill writes `num` keys.
fn load_note(threads: u64) -> String {
    format!(
        "--threads={threads} is of measured phases: one thread loads, `num` records in all \
         (db_bench fills by {threads} threads, `num` records each)"
    )
}

/// A suite while flags bend it.
struct FlagEdits<'s, 'i> {
    suite: &'s DeTable<'i>,
    set: Vec<String>,
    /// Options that the engine has by its `options` alone, by path: `compression_opts.level`.
    own: Vec<(String, String)>,
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
        let known = |name: &str| FLAGS.iter().find(|(known, _)| *known == name);
        let off = typed.name.strip_prefix("no").filter(|_| typed.value.is_none()).and_then(known);
        let (flag, value) = match (known(typed.name), off) {
            (Some((_, flag)), _) => (flag, typed.value.unwrap_or("true")),
            (None, Some((_, flag))) => (flag, "false"),
            (None, None) => {
                let names: Vec<&str> = FLAGS.iter().map(|(name, _)| *name).collect();
                let message = format!("`--{}` is no flag of db_bench that is known", typed.name);
                let mistake = mistakes.at(&typed.span, message);
                if let Some(closest) = super::mistake::closest(typed.name, &names) {
                    mistake.label(format!("did you mean `--{closest}`?"));
                }
                mistake.help(
                    "an option of RocksDB without a flag here: \
                     --set engine.rocksdb.options.options=\"name=value\"",
                );
                return;
            }
        };
        if let Err(wanted) = self.apply(*flag, value, threads) {
            let message = format!("`--{}` cannot be `{value}`", typed.name);
            match flag {
                Flag::Nothing(why) => mistakes
                    .at(&typed.span, format!("`--{}` has no place here", typed.name))
                    .label(*why),
                _ => mistakes.at(&typed.span, message).label(wanted),
            };
        }
    }

    /// What is wanted in place of the value, where it cannot be.
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
                let at = value.parse().ok().and_then(|number: usize| number.checked_sub(first));
                let found = at.and_then(|at| words.get(at));
                let all =
                    || (first..).zip(words).map(|(number, word)| format!("{number} ({word})"));
                match found {
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
                self.own(name, value);
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

    /// Takes what a file says; gives what is to be said of it.
    fn take_file(
        &mut self,
        path: &str,
        file: OptionsFile,
        span: &Span,
        mistakes: &mut Mistakes,
    ) -> String {
        let OptionsFile { version, options, own, left } = file;
        let cached = options.iter().any(|(name, _)| *name == "block_cache");
        let said = format!(
            "OPTIONS file {path} of RocksDB {}: {} options by their names here, {} handed on \
             as they stand, {left} at RocksDB's defaults or the run's own{}",
            version.as_deref().unwrap_or("(it does not say which)"),
            options.len(),
            own.len(),
            if cached { "" } else { "; it does not say how large the block cache is" },
        );
        let wrong = options.iter().find_map(|(name, value)| self.option(name, value).err());
        if let Some(wanted) = wrong {
            mistakes.at(span, format!("`--{OPTIONS_FILE}` has no place here")).label(wanted);
        }
        for (name, value) in &own {
            self.own(name, value);
        }
        said
    }

    /// An option that goes into the engine's `options`, in place of one of this name.
    fn own(&mut self, name: &str, value: &str) {
        self.own.retain(|(known, _)| known != name);
        self.own.push((name.to_owned(), value.to_owned()));
    }

    /// An option of every engine `rocksdb` of the suite.
    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.of_engines(&format!("options.{name}"), value)
    }

    fn of_engines(&mut self, key: &str, value: &str) -> Result<(), String> {
        let engines = self.suite.get("engine").and_then(|engines| engines.get_ref().as_array());
        let engines = engines.into_iter().flat_map(|engines| engines.iter()).enumerate();
        let of = engines.filter(|(_, engine)| {
            let table = engine.get_ref().as_table();
            table.is_some_and(|table| word(table, "name") == Some(ENGINE))
        });
        let before = self.set.len();
        self.set.extend(of.map(|(at, _)| format!("engine.{at}.{key}={value}")));
        let none = "expected a suite with engine `rocksdb`: this is an option of it";
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
                return Err("expected a number above 0: there 0 takes the clock's".to_owned());
            }
            Work::Seed => self.set.push(format!("data.seed={value}")),
            Work::Duration => {
                let seconds = number()?;
                if seconds > 0 {
                    self.of_measured("duration", &format!("{seconds}s"), "operations");
                }
            }
            Work::Reads => {
                let threads =
                    threads.ok_or("expected `--threads` before it: it counts for each")?;
                let all = number()?.checked_mul(threads).ok_or("expected fewer")?;
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
                let mix = |at, weight| format!("role.clients.mix.{at}.weight={weight}");
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

    /// A key of a named phase, where the suite has it.
    fn named(&mut self, phase: &str, set: &str) {
        let tables = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        if tables.is_some_and(|tables| tables.contains_key(phase)) {
            self.set.push(format!("phases.{phase}.{set}"));
        }
    }

    /// A key of every measured phase, in place of another.
    fn of_measured(&mut self, key: &str, value: &str, other: &str) {
        for path in self.phases(|kind| kind == "measure") {
            let set = [(other, ""), ("windows", ""), (key, value)];
            self.set.extend(set.map(|(key, value)| format!("{path}.{key}={value}")));
        }
    }

    /// The paths of the suite's phases of these kinds.
    fn phases(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let is = |phase: &DeValue<'_>| {
            let kind = phase.as_table().and_then(|table| word(table, "kind"));
            kind.is_some_and(&wanted)
        };
        let listed = self.suite.get("phase").and_then(|phases| phases.get_ref().as_array());
        let listed = listed.into_iter().flat_map(|phases| phases.iter()).enumerate();
        let listed = listed.filter(|(_, phase)| is(phase.get_ref()));
        let named = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        let named = named.into_iter().flat_map(|phases| phases.iter());
        let named = named.filter(|(_, phase)| is(phase.get_ref()));
        listed
            .map(|(at, _)| format!("phase.{at}"))
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
        // Without such an engine there is nothing to promise.
        if let Some(class) = class {
            let _ = self.of_engines("durability", class);
        }
        if !self.own.is_empty() {
            let own = self.own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let own = options_file::nested(&own.collect::<Vec<_>>());
            let _ = self.option("options", &format!("{own:?}"));
        }
        self.set
    }
}

/// On or off, as gflags reads it.
fn switch(value: &str) -> Result<bool, String> {
    match value {
        "1" | "t" | "true" | "y" | "yes" => Ok(true),
        "0" | "f" | "false" | "n" | "no" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// Why a name of `--benchmarks` is no phase here, where that is known.
fn no_phase(name: &str) -> Option<String> {
    match name {
        "compact" | "compactall" | "waitforcompaction" | "flush" => Some(format!(
            "`{name}` is waiting for the engine's work: expected a phase of kind settle"
        )),
        "stats" | "levelstats" | "sstables" | "memstats" | "stats_history" => {
            Some(format!("`{name}` prints: expected only what works; counters are in the record"))
        }
        _ => None,
    }
}

/// Parts have no keys of `[run]` any more that flags have set.
pub(super) fn for_all_parts(arguments: &[String], suite: &mut DeTable<'_>) {
    for key in ["threads", "phases"] {
        if arguments.iter().any(|argument| argument.starts_with(&format!("run.{key}="))) {
            adjust::take_from_parts(suite, key);
        }
    }
}
