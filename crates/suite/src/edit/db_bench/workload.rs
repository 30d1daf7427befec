//! Flags that change the workload: threads, lengths of phases, rates, durability.

use super::benchmarks::{self, Phases};
use super::edits::FlagEdits;
use super::flags::Work;
use crate::edit::adjust::get_str;
use crate::written::mistake::Mistakes;
use crate::written::source::Span;
use toml::de::DeValue;

/// Phases of writes, with the role that writes.
const WRITERS: [(&str, &str); 5] = [
    ("overwrite", "writers"),
    ("updaterandom", "writers"),
    ("multireadwhilewriting", "writer"),
    ("readwhilewriting", "writer"),
    ("seekrandomwhilewriting", "writer"),
];

/// Phases that read nothing: `--reads` does not apply to them.
const WRITE_ONLY: [&str; 2] = ["overwrite", "deleterandom"];

/// Phases that read with `benchmark_read_rate_limit`.
const READERS: [&str; 5] =
    ["readrandom", "readmissing", "readwhilewriting", "seekrandom", "seekrandomwhilewriting"];

/// Fills that `db_bench` runs with all its threads.
const THREADED_FILLS: [&str; 2] = ["fillseq", "fillrandom"];

/// Flags that have their effect once all flags are known.
#[derive(Debug, Default)]
pub(super) struct Workload {
    threads: Option<u64>,
    /// `--num`, as typed.
    pub(super) records: Option<String>,
    duration: u64,
    reads: Option<(u64, Span)>,
    writes: Option<(u64, Span)>,
    deletes: Option<(u64, Span)>,
    write_bytes_per_s: Option<u64>,
    writes_per_s: Option<u64>,
    phases: Option<Phases>,
    /// `--benchmarks` was refused: flags that depend on it are not refused again.
    is_refused: bool,
    /// The position of `--use_existing_db`; none: it is off.
    existing: Option<Span>,
    logged: Option<bool>,
    synced: Option<bool>,
}

impl FlagEdits<'_, '_> {
    /// Applies a flag of the workload. `Err`: the expected value.
    pub(super) fn work(&mut self, work: Work, value: &str, span: &Span) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| "expected a whole number".to_owned());
        // Negative: the default, which is `num`.
        let limit = || match value.parse::<i64>() {
            Ok(count) => Ok(u64::try_from(count).ok().map(|count| (count, span.clone()))),
            Err(_) => Err("expected a whole number".to_owned()),
        };
        match work {
            Work::Benchmarks if self.phases_override.is_empty() => {
                let phases = Phases::read(value, self.suite).map_err(|(name, expected)| {
                    self.workload.is_refused = true;
                    format!("found `{name}`, {expected}")
                })?;
                self.set.push(format!("run.phases={:?}", phases.names));
                self.workload.phases = Some(phases);
            }
            Work::Threads => {
                self.workload.threads = Some(number()?);
                self.set.push(format!("run.threads=[{}]", number()?));
            }
            Work::Seed if number()? == 0 => {
                return Err(
                    "expected a number above 0: in db_bench, 0 means the clock's time".to_owned()
                );
            }
            Work::Seed => self.set.push(format!("data.seed={value}")),
            Work::Duration => self.workload.duration = number()?,
            Work::Reads => self.workload.reads = limit()?,
            Work::Writes => self.workload.writes = limit()?,
            Work::Deletes => self.workload.deletes = limit()?,
            Work::Sync => self.workload.synced = Some(switch(value)?),
            Work::DisableWal => self.workload.logged = Some(!switch(value)?),
            Work::ExistingDatabase => {
                self.workload.existing = switch(value)?.then(|| span.clone());
            }
            Work::Benchmarks | Work::Ribbon | Work::MinLevelToCompress | Work::UndefOk => {}
            _ => self.mix(work, value)?,
        }
        Ok(())
    }

    /// Applies a flag that changes operations or rates of named phases.
    fn mix(&mut self, work: Work, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| "expected a whole number".to_owned());
        match work {
            Work::BatchSize => {
                let loads = self.phases(|kind| kind == "load");
                let size = number()?;
                self.set.extend(loads.iter().map(|path| format!("{path}.batch={size}")));
                for phase in ["multireadrandom", "multireadwhilewriting"] {
                    self.set_phase_key(phase, &format!("role.readers.mix.0.count={size}"));
                }
            }
            Work::SeekNexts => {
                let length = number()?.saturating_add(1);
                for phase in ["seekrandom", "seekrandomwhilewriting"] {
                    self.set_phase_key(phase, &format!("role.readers.mix.0.length={length}"));
                }
            }
            Work::Reverse => {
                let reverse = switch(value)?;
                for phase in ["seekrandom", "seekrandomwhilewriting"] {
                    self.set_phase_key(phase, &format!("role.readers.mix.0.reverse={reverse}"));
                }
            }
            Work::ReadWritePercent => {
                let reads = number()?;
                if !(1..100).contains(&reads) {
                    return Err("expected 1 to 99".to_owned());
                }
                let mix = |index, weight| format!("role.clients.mix.{index}.weight={weight}");
                self.set_phase_key("readrandomwriterandom", &mix(0, reads));
                self.set_phase_key("readrandomwriterandom", &mix(1, 100 - reads));
            }
            Work::WriteRateLimit => self.workload.write_bytes_per_s = Some(number()?),
            Work::WritesPerSecond => self.workload.writes_per_s = Some(number()?),
            Work::ReadRateLimit => {
                let rate = match number()? {
                    0 => String::new(),
                    operations => format!("{{ per_second = {operations} }}"),
                };
                for phase in READERS {
                    self.set_phase_key(phase, &format!("role.readers.rate={rate}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Applies settings that depend on several flags of the workload.
    pub(super) fn finish_workload(&mut self, mistakes: &mut Mistakes) {
        let workload = std::mem::take(&mut self.workload);
        if workload.is_refused {
            return;
        }
        if let Some(phases) = &workload.phases {
            self.note_benchmarks(phases);
        }
        let typed = workload.phases.as_ref().map(|phases| phases.names.clone());
        let phases = match (self.phases_override, typed) {
            ([], Some(phases)) => phases,
            ([], None) => benchmarks::list_run_phases(self.suite),
            (phases, _) => phases.to_vec(),
        };
        self.load_with_threads(workload.threads.unwrap_or(1), &phases);
        if let Some(span) = workload.existing.as_ref().filter(|_| !self.has_data(&phases)) {
            let mistake =
                mistakes.at(span, "`--use_existing_db` needs the database of another line");
            mistake.label("expected a fill before its phases");
            mistake.help(
                "name the phases with a fill: --phases fillseq,readrandom; `[data] from` of a \
                 suite takes a database of your own",
            );
        }
        self.set_write_rates(&workload);
        self.end_phases(&workload, &phases, mistakes);
        let class = match (workload.logged, workload.synced) {
            (None, None) => None,
            (Some(false), _) => Some("none"),
            (_, Some(true)) => Some("commit"),
            _ => Some("async"),
        };
        // Without such an engine there is no durability to set.
        if let Some(class) = class {
            let _ = self.set_in_engines("durability", class);
        }
    }

    fn note_benchmarks(&mut self, phases: &Phases) {
        if !phases.prints.is_empty() {
            let names = phases.prints.join(", ");
            self.notes.push(format!("db_bench's {names}: left out, the record has the counters"));
        }
        if !phases.settles.is_empty() {
            let names = phases.settles.join(", ");
            self.notes.push(format!("db_bench's {names}: `settle` waits for the engine instead"));
        }
        // With this option `settle` compacts everything, as these benchmarks do.
        if phases.settles.iter().any(|name| name == "compact" || name == "compactall") {
            let _ = self.option("settle", "compact");
        }
    }

    /// Returns whether the phases have data: from a load, or from the user's own database.
    fn has_data(&self, phases: &[String]) -> bool {
        let data = self.suite.get("data").and_then(|data| data.get_ref().as_table());
        benchmarks::has_load(self.suite, phases)
            || data.is_some_and(|data| data.contains_key("from"))
    }

    /// Sets the threads of fills. A note tells that they share `num` records: in `db_bench`, each
    /// thread writes `num` keys.
    fn load_with_threads(&mut self, threads: u64, phases: &[String]) {
        if threads < 2 {
            return;
        }
        for fill in THREADED_FILLS.into_iter().filter(|fill| phases.iter().any(|name| name == fill))
        {
            self.set_phase_key(fill, &format!("threads={threads}"));
            self.notes.push(format!(
                "--threads={threads}: the threads of {fill} write `num` records together (in \
                 db_bench, each of them writes `num`)"
            ));
        }
    }

    /// Sets the rates of writers: 0 is no limit, and keeps the other flag's limit.
    fn set_write_rates(&mut self, workload: &Workload) {
        let (bytes, operations) = (workload.write_bytes_per_s, workload.writes_per_s);
        for (phase, role) in WRITERS {
            // Only a writer beside readers has a limit of operations.
            let operations = operations.filter(|_| role == "writer");
            let rate = match (operations, bytes) {
                (Some(operations @ 1..), _) => format!("{{ per_second = {operations} }}"),
                (_, Some(bytes @ 1..)) => format!("{{ bytes_per_s = {bytes} }}"),
                (None, None) => continue,
                _ => String::new(),
            };
            self.set_phase_key(phase, &format!("role.{role}.rate={rate}"));
        }
    }

    /// Sets the ends of phases. In `db_bench` a duration overrides counts of operations.
    fn end_phases(&mut self, workload: &Workload, phases: &[String], mistakes: &mut Mistakes) {
        if workload.duration > 0 {
            self.set_measured("duration", &format!("{}s", workload.duration), "operations");
            if phases.iter().any(|phase| phase == "fillrandom") {
                self.notes.push(
                    "--duration: fillrandom loads all records, whatever time it takes".to_owned(),
                );
            }
            for (flag, limit) in [
                ("reads", &workload.reads),
                ("writes", &workload.writes),
                ("deletes", &workload.deletes),
            ] {
                self.left_out.extend(limit.is_some().then(|| flag.to_owned()));
            }
            return;
        }
        let Workload { reads, writes, deletes, .. } = workload;
        // Counts are per thread; a sweep of thread counts takes its largest.
        let threads = workload.threads.or(self.threads_override.iter().max().map(|n| (*n).into()));
        // db_bench has one thread by default; a suite may sweep several thread counts.
        if threads.is_none() && [reads, writes, deletes].into_iter().any(Option::is_some) {
            self.set.push("run.threads=[1]".to_owned());
            self.notes.push("one thread, as db_bench without --threads".to_owned());
        }
        let all = |limit: &Option<(u64, Span)>| {
            let (each, _) = limit.as_ref()?;
            Some(each.saturating_mul(threads.unwrap_or(1)).to_string())
        };
        if let Some(reads) = all(reads) {
            for path in self.phases(|kind| kind == "measure") {
                if !WRITE_ONLY.iter().any(|phase| path == format!("phases.{phase}")) {
                    self.set_end(&path, "operations", &reads, "duration");
                }
            }
        }
        if let Some(writes) = all(writes) {
            self.set_operations("overwrite", &writes);
        }
        let most = reads.iter().chain(writes).map(|(count, _)| *count).max();
        if let Some(most) = most {
            let most = most.saturating_mul(threads.unwrap_or(1)).to_string();
            self.set_operations("updaterandom", &most);
            self.set_operations("readrandomwriterandom", &most);
        }
        if let Some(deletes) = all(deletes) {
            self.set_operations("deleterandom", &deletes);
        }
        let Some((count, span)) = writes else { return };
        let is_all = workload.records.as_ref() == Some(&count.to_string());
        if !is_all && benchmarks::has_load(self.suite, phases) && self.phases_override.is_empty() {
            let mistake = mistakes.at(span, "`--writes` cannot shorten a fill");
            mistake.label("expected the value of `--num`: a fill writes `num` records");
        }
    }

    /// Ends a named phase after a count of operations.
    fn set_operations(&mut self, phase: &str, count: &str) {
        for (key, value) in [("duration", ""), ("windows", ""), ("operations", count)] {
            self.set_phase_key(phase, &format!("{key}={value}"));
        }
    }

    /// Sets a key of a named phase, if the suite has that phase.
    fn set_phase_key(&mut self, phase: &str, set: &str) {
        let tables = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        if tables.is_some_and(|tables| tables.contains_key(phase)) {
            self.set.push(format!("phases.{phase}.{set}"));
        }
    }

    /// Sets a key of every measured phase, and removes another.
    fn set_measured(&mut self, key: &str, value: &str, other: &str) {
        for path in self.phases(|kind| kind == "measure") {
            self.set_end(&path, key, value, other);
        }
    }

    /// Sets one key of a phase's end, and removes another.
    fn set_end(&mut self, path: &str, key: &str, value: &str, other: &str) {
        let set = [(other, ""), ("windows", ""), (key, value)];
        self.set.extend(set.map(|(key, value)| format!("{path}.{key}={value}")));
    }

    /// Returns the paths of the suite's phases with these kinds.
    fn phases(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let is = |phase: &DeValue<'_>| {
            let kind = phase.as_table().and_then(|table| get_str(table, "kind"));
            kind.is_some_and(&is_wanted)
        };
        let listed = self.suite.get("phase").and_then(|phases| phases.get_ref().as_array());
        let listed = listed.into_iter().flat_map(|phases| phases.iter()).enumerate();
        let listed = listed.filter(|(_, phase)| is(phase.get_ref()));
        let named_phases = self.suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        let named_phases = named_phases.into_iter().flat_map(|phases| phases.iter());
        let named_phases = named_phases.filter(|(_, phase)| is(phase.get_ref()));
        listed
            .map(|(index, _)| format!("phase.{index}"))
            .chain(named_phases.map(|(name, _)| format!("phases.{}", name.get_ref())))
            .collect()
    }
}

/// On or off, as gflags parses it.
pub(super) fn switch(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" => Ok(true),
        "0" | "f" | "false" | "n" | "no" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}
