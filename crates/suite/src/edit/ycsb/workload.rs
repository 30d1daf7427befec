//! The data, the requests and the end of a workload of YCSB.

use super::properties::Property;
use super::values::{Values, refuse};
use crate::edit::db_bench::benchmarks::{list_phases, phase_kinds};
use crate::edit::overrides::Overrides;
use crate::written::mistake::Mistakes;
use std::fmt::Write as _;
use toml::de::DeTable;

/// The exponent of YCSB's Zipf distributions.
const THETA: f64 = 0.99;

/// The most lengths of an empirical distribution.
const LENGTHS_MAX: u64 = 1000;

/// The measured phase of a command line without files.
const PHASE: &str = "run";

/// The duration of a phase until `--duration` replaces it.
const REPLACED: &str = "60s";

/// The packages of `CoreWorkload`, the new one and the old one.
const CLASSES: [&str; 2] =
    ["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"];

/// Collects the changes that properties make to a suite.
pub(super) struct Workload<'p, 'm> {
    values: Values<'p>,
    mistakes: &'m mut Mistakes,
    set: Vec<String>,
    notes: Vec<String>,
}

/// Shares of the kinds of requests.
struct Mix {
    list: String,
    inserts: bool,
}

impl<'p, 'm> Workload<'p, 'm> {
    pub(super) fn new(properties: &'p [Property], mistakes: &'m mut Mistakes) -> Self {
        let values = Values::new(properties);
        Self { values, mistakes, set: Vec::new(), notes: Vec::new() }
    }

    /// Translates all properties and returns the arguments and the notes.
    pub(super) fn edits(
        mut self,
        suite: &DeTable<'_>,
        file: Option<&str>,
        overrides: &Overrides,
    ) -> (Vec<String>, Vec<String>) {
        if !self.has_class() {
            return (self.set, self.notes);
        }
        let left_out = self.values.ineffective_properties(self.mistakes);
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            self.notes.push(format!("properties of YCSB without effect here: {names}"));
        }
        let why = "a run of kvdyno loads before it measures, and its phase `load` has a row of its \
                   own: leave out `load`, `-load` and `dotransactions`";
        self.values.require_value("dotransactions", "true", why, self.mistakes);
        self.set_data();
        let threads = self.values.number("threadcount", 1, 0_u32, self.mistakes);
        if threads > 0 && overrides.threads.is_empty() {
            self.set.push(format!("run.threads=[{threads}]"));
        }
        let run = suite.get("run").and_then(|run| run.get_ref().as_table());
        let sweeps = run.is_some_and(|run| run.contains_key("threads"));
        if threads == 0 && overrides.threads.is_empty() && !sweeps {
            // YCSB's own default.
            self.set.push("run.threads=[1]".to_owned());
        }
        let mix = self.mix();
        self.set_phases(suite, file, &mix, overrides);
        if suite.get("fidelity").is_none() {
            self.set.push("fidelity=as-run".to_owned());
        }
        let database = run.and_then(|run| run.get("database")?.get_ref().as_str());
        if mix.inserts && database.is_none_or(|database| database == "shared") {
            self.set.push("run.database=state".to_owned());
        }
        (self.set, self.notes)
    }

    /// Returns whether the workload is `CoreWorkload`. Another class has other properties, so they
    /// are not read.
    fn has_class(&mut self) -> bool {
        let class = self.values.get("workload");
        let other = class.filter(|class| !CLASSES.contains(&class.value.as_str()));
        if let Some(class) = other {
            refuse(class, format!("expected {}", CLASSES[0]), self.mistakes);
        }
        other.is_none()
    }

    fn set_data(&mut self) {
        let records = self.values.number("recordcount", 1, 0_u64, self.mistakes);
        if records > 0 {
            self.set.push(format!("data.records={records}"));
        }
        let every = "kvdyno loads and requests all records";
        self.values.require_value("insertstart", "0", every, self.mistakes);
        if records > 0 {
            self.values.require_value("insertcount", &records.to_string(), every, self.mistakes);
        } else if let Some(count) = self.values.get("insertcount") {
            refuse(count, "expected `recordcount` beside it".to_owned(), self.mistakes);
        }
        let why = "set `batch` of the phase of kind `load`";
        self.values.require_value("batchsize", "1", why, self.mistakes);
        self.values.require_value(
            "keyprefix",
            "user",
            "keys have YCSB's own prefix",
            self.mistakes,
        );
        self.set_keys(records);
        let length = self.field_bytes();
        if let Some(length) = length {
            self.set.push(format!("data.value_bytes={length}"));
        }
        if self.values.switch("dataintegrity", false) {
            self.set.push("data.verify=true".to_owned());
        }
        if !self.values.switch("readallfields", true) {
            self.notes.push(
                "readallfields=false: a read returns the whole record, because an engine reads \
                 whole values"
                    .to_owned(),
            );
        }
    }

    fn set_keys(&mut self, records: u64) {
        let order = self.values.choice("insertorder", &["hashed", "ordered"], self.mistakes);
        let (format, key_order, bytes) = if order == "hashed" {
            let why = "hashed keys have up to 19 digits";
            self.values.require_value("zeropadding", "1", why, self.mistakes);
            ("ycsb", "", String::new())
        } else {
            let padding = self.values.number("zeropadding", 0, 1_usize, self.mistakes);
            if let (0, Some(order)) = (records, self.values.get("insertorder")) {
                let expected = "expected `recordcount` beside it: keys have the digits of the last";
                refuse(order, expected.to_owned(), self.mistakes);
                return;
            }
            let last = (records + self.inserts()).saturating_sub(1);
            let bytes = "user".len() + padding.max(last.to_string().len());
            self.notes.push(format!(
                "insertorder=ordered: keys are {bytes} bytes long and in the order of their \
                 numbers (YCSB's are so with `zeropadding`)"
            ));
            ("", "ordered", bytes.to_string())
        };
        self.set.push(format!("data.key_format={format}"));
        self.set.push(format!("data.key_order={key_order}"));
        self.set.push(format!("data.key_bytes={bytes}"));
    }

    /// Returns the number of records that the requests are expected to insert.
    fn inserts(&self) -> u64 {
        let mut reported_elsewhere = Mistakes::default();
        let operations = self.values.number("operationcount", 0, 0_u64, &mut reported_elsewhere);
        let share = self.values.number("insertproportion", 0.0, 0.0, &mut reported_elsewhere);
        (operations as f64 * share) as u64
    }

    /// Returns the length of a value, which holds all fields of a record.
    fn field_bytes(&mut self) -> Option<String> {
        let fields = self.values.number("fieldcount", 1, 10_u64, self.mistakes);
        let most = self.values.number("fieldlength", 1, 100_u64, self.mistakes);
        let least = self.values.number("minfieldlength", 1, 1_u64, self.mistakes);
        let words = ["constant", "uniform", "zipfian", "histogram"];
        let distribution = self.values.choice("fieldlengthdistribution", &words, self.mistakes);
        let property = self.values.get("fieldlengthdistribution");
        let lengths = (least..=most).count() as u64;
        match (distribution, property) {
            (_, Some(property)) if distribution != "constant" && lengths == 0 => {
                let expected = format!("expected a `fieldlength` of at least {least}");
                refuse(property, expected, self.mistakes);
                None
            }
            ("uniform", _) if fields == 1 => {
                Some(format!("{{ uniform = {{ min = {least}, max = {most} }} }}"))
            }
            // The sum of many independent lengths is nearly normal.
            ("uniform", _) => {
                let mean = (fields * (least + most)).div_ceil(2);
                let variance = fields as f64 * ((lengths * lengths) as f64 - 1.0) / 12.0;
                let (min, max) = (fields * least, fields * most);
                Some(format!(
                    "{{ normal = {{ mean = {mean}, sigma = {:.3}, min = {min}, max = {max} }} }}",
                    variance.sqrt()
                ))
            }
            ("zipfian", Some(_)) if fields == 1 && lengths <= LENGTHS_MAX => {
                Some(zipfian(least, most))
            }
            ("zipfian", Some(property)) => {
                let expected = format!(
                    "expected constant or uniform, or one field of at most {LENGTHS_MAX} lengths"
                );
                refuse(property, expected, self.mistakes);
                None
            }
            ("histogram", Some(property)) => {
                let expected = "expected constant, uniform or zipfian: `[data] value_bytes = { \
                                empirical = .. }` of a suite takes lengths with weights";
                refuse(property, expected, self.mistakes);
                None
            }
            _ => Some((fields * most).to_string()),
        }
    }

    /// Returns the requests with their shares. An update of one field of several reads the record
    /// first.
    fn mix(&mut self) -> Mix {
        let fields = self.values.number("fieldcount", 1, 10_u64, &mut Mistakes::default());
        let is_whole = fields == 1 || self.values.switch("writeallfields", false);
        let mut share = |name: &str, default| self.values.number(name, 0.0, default, self.mistakes);
        let (reads, updates) = (share("readproportion", 0.95), share("updateproportion", 0.05));
        let inserts = share("insertproportion", 0.0);
        let (scans, cycles) =
            (share("scanproportion", 0.0), share("readmodifywriteproportion", 0.0));
        let (updates, cycles) = if is_whole { (updates, cycles) } else { (0.0, updates + cycles) };
        let length = self.scan_length();
        let scan = format!("scan\", length = {length}, reverse = false");
        let ops = [
            ("get\"", reads),
            ("update\"", updates),
            ("insert\"", inserts),
            (scan.as_str(), scans),
            ("rmw\"", cycles),
        ];
        let ops = ops.into_iter().filter(|(_, share)| *share > 0.0);
        let list: Vec<String> =
            ops.map(|(op, share)| format!("{{ op = \"{op}, weight = {share} }}")).collect();
        if list.is_empty() {
            let mistake = self.mistakes.add_unlocated("all proportions of YCSB's properties are 0");
            mistake.help("set one, such as `-p readproportion=1`");
        }
        Mix { list: list.join(", "), inserts: inserts > 0.0 }
    }

    /// Returns the number of records of a scan.
    fn scan_length(&mut self) -> String {
        let least = self.values.number("minscanlength", 1, 1_u64, self.mistakes);
        let most = self.values.number("maxscanlength", least, 1000.max(least), self.mistakes);
        let words = ["uniform", "zipfian"];
        let distribution = self.values.choice("scanlengthdistribution", &words, self.mistakes);
        match self.values.get("scanlengthdistribution") {
            Some(property) if distribution == "zipfian" => {
                if most - least >= LENGTHS_MAX {
                    let expected = format!("expected at most {LENGTHS_MAX} lengths, or uniform");
                    refuse(property, expected, self.mistakes);
                    return most.to_string();
                }
                zipfian(least, most)
            }
            _ => format!("{{ uniform = {{ min = {least}, max = {most} }} }}"),
        }
    }

    /// Sets the measured phase, which follows the suite's phases before its first measured one.
    fn set_phases(
        &mut self,
        suite: &DeTable<'_>,
        file: Option<&str>,
        mix: &Mix,
        overrides: &Overrides,
    ) {
        let kinds = phase_kinds(suite);
        let kind = |name: &str| kinds.iter().find(|(other, _)| other == name);
        let name = phase_name(file).filter(|name| kind(name).is_none());
        let name = name.unwrap_or_else(|| PHASE.to_owned());
        let is_measured = |name: &str| kind(name).is_some_and(|(_, kind)| kind == "measure");
        let mut phases: Vec<String> =
            list_phases(suite).into_iter().take_while(|name| !is_measured(name)).collect();
        phases.push(name.clone());
        let ends = self.ends(overrides);
        let (keys, as_run) = self.key_choice(mix, ends.contains("operations"));
        let target = self.values.number("target", f64::MIN, 0.0, self.mistakes);
        let rate = if target > 0.0 {
            format!(", rate = {{ per_second = {target}, schedule = \"fixed\" }}")
        } else {
            String::new()
        };
        let role = |keys: &str| format!("role = {{ clients = {{ keys = {{ {keys} }} }} }}");
        self.set.push(format!(
            "phases.{name}={{ kind = \"measure\"{ends}, role = {{ clients = {{ threads = \"sweep\"\
             {rate}, keys = {{ {keys} }}, mix = [{}] }} }}, as-run = {{ {} }} }}",
            mix.list,
            role(&as_run)
        ));
        if overrides.phases.is_empty() {
            self.set.push(format!("run.phases={phases:?}"));
        }
    }

    /// Returns `operations` and `duration` of the phase.
    fn ends(&mut self, overrides: &Overrides) -> String {
        let operations = self.values.number("operationcount", 0, 0_u64, self.mistakes);
        let seconds = self.values.number("maxexecutiontime", 0, 0_u64, self.mistakes);
        let mut ends = String::new();
        // Writing to a String cannot fail.
        if operations > 0 {
            let _ = write!(ends, ", operations = {operations}");
        }
        if seconds > 0 {
            let _ = write!(ends, ", duration = \"{seconds}s\"");
        }
        let is_replaced =
            overrides.duration.is_some() || overrides.hours.is_some() || overrides.quick.is_some();
        if ends.is_empty() && !is_replaced {
            let mistake = self.mistakes.add_unlocated("YCSB's properties have no `operationcount`");
            mistake.help("set `-p operationcount=1000000`, `-p maxexecutiontime=60` or --duration");
        }
        if ends.is_empty() { format!(", duration = \"{REPLACED}\"") } else { ends }
    }

    /// Returns the distribution of keys: as described, and as YCSB draws it.
    fn key_choice(&mut self, mix: &Mix, is_counted: bool) -> (String, String) {
        let words = ["uniform", "zipfian", "latest", "sequential", "exponential", "hotspot"];
        let distribution = self.values.choice("requestdistribution", &words, self.mistakes);
        let same = |keys: String| (keys.clone(), keys);
        match distribution {
            "zipfian" => {
                let domain = if is_counted { "predicted" } else { "loaded" };
                let as_written = format!("distribution = \"zipf\", theta = {THETA}");
                let as_run = format!(
                    "distribution = \"gray_zipf\", theta = {THETA}, items = 1e10, \
                     spread = \"fnv\", domain = \"{domain}\""
                );
                (as_written, as_run)
            }
            "latest" => {
                let keys = format!("distribution = \"latest\", theta = {THETA}");
                (keys.clone(), format!("{keys}, exact = false"))
            }
            "hotspot" => {
                let keys = self.values.share("hotspotdatafraction", 0.2, self.mistakes);
                let operations = self.values.share("hotspotopnfraction", 0.8, self.mistakes);
                same(format!(
                    "distribution = \"hotspot\", keys = {keys}, operations = {operations}, \
                     domain = \"loaded\""
                ))
            }
            "exponential" => {
                let percentile =
                    self.values.number("exponential.percentile", 0.0, 95.0, self.mistakes);
                let fraction =
                    self.values.share("exponential.frac", 0.857_142_857_1, self.mistakes);
                if mix.inserts {
                    self.notes.push(
                        "requestdistribution=exponential: the first records are the hottest (in \
                         YCSB, the newest)"
                            .to_owned(),
                    );
                }
                same(format!(
                    "distribution = \"exponential\", percentile = {percentile}, fraction = \
                     {fraction}"
                ))
            }
            other => same(format!("distribution = \"{other}\"")),
        }
    }
}

/// Returns lengths by Zipf's law; the shortest is the most frequent.
fn zipfian(least: u64, most: u64) -> String {
    let weights = (least..=most).map(|length| {
        let rank = (length - least + 1) as f64;
        format!("[{length}, {:.6}]", rank.powf(-THETA))
    });
    format!("{{ empirical = [{}] }}", weights.collect::<Vec<_>>().join(", "))
}

/// Returns the name of a phase made from a file's name, if it is valid.
fn phase_name(file: Option<&str>) -> Option<String> {
    let name = file?.rsplit('/').next()?;
    let name = name.split('.').next()?.to_ascii_lowercase();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    ((1..=64).contains(&name.len()) && name.chars().all(is_letter)).then_some(name)
}
