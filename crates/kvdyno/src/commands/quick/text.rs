//! The suite for the options: TOML as a person would write it, to read and keep.

use crate::cli::QuickArgs;
use kvdyno_record::engine::{Description, OptionSpec, Preset};
use std::path::Path;
use toml::Value;

/// The class of writes, unless another is requested.
const ASYNC: &str = "async";

/// The ceilings to measure with the engines, if available.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extras {
    /// The engine that stores nothing: the overhead of the load generator.
    pub(super) null: bool,
    /// The drive without an engine.
    pub(super) drive: bool,
}

/// A requested engine.
#[derive(Clone, Debug)]
pub(super) struct AskedEngine {
    /// `rocksdb`, or with a version `rocksdb@9.10.0`.
    pub(super) typed: String,
    pub(super) name: String,
    /// The description of its worker; none: not available.
    pub(super) description: Option<Description>,
}

/// Splits `rocksdb@9.10.0`.
pub(super) fn split_version(typed: &str) -> (&str, Option<&str>) {
    typed.split_once('@').map_or((typed, None), |(name, version)| (name, Some(version)))
}

/// Returns the suite's text. An invalid value in it is a mistake at its line, as in any suite.
pub(super) fn suite(args: &QuickArgs, engines: &[AskedEngine], extras: Extras) -> String {
    let each = engines.iter().map(|engine| self::engine(engine, args));
    let typed: Vec<&str> = engines.iter().map(|engine| engine.typed.as_str()).collect();
    let parts = [
        "# Written by `kvdyno quick`. docs/suite-reference.md has every key.\n".to_owned(),
        format!("[suite]\nname = {}", quote(&name(&typed))),
        format!("title = {}\n", quote(&title(args, &typed))),
        data(args),
        ram(args),
        run(args),
    ];
    let parts = parts.into_iter().chain(extras.drive.then(|| DRIVE.to_owned())).chain(each);
    let parts: Vec<String> = parts.chain(extras.null.then(|| NULL.to_owned())).collect();
    let setup = parts.join("\n") + "\n" + if args.from.is_some() { "" } else { MADE };
    match args.read_percent() {
        Some(percent) => setup + COLD + &format_mixed_phase(args, percent),
        None => setup + &lone_writer(args) + COLD + &readers_beside_writer(args),
    }
}

const DRIVE: &str = "\
# The drive with as many threads: the ceiling of the engines.
[drive]
preset = \"ceiling\"
duration = \"1s\"
warmup = \"250ms\"
";

const NULL: &str = "\
# Stores nothing: its figures are the overhead of the load generator.
[[engine]]
name = \"null\"
";

const MADE: &str = "\
# Load the database once for each engine and trial, let it settle, and verify it.
[[phase]]
kind = \"load\"
# Not in key order: that would be the best case of most engines.
order = \"random\"
batch = 100

[[phase]]
kind = \"settle\"
limit = \"2m\"

[[phase]]
kind = \"verify\"
samples = 10_000
count = false

";

const COLD: &str = "\
# Start the measurement with an empty page cache, or with all data in memory where it fits.
[[phase]]
kind = \"evict\"

[[phase]]
kind = \"warm\"

";

/// The `[data]` table for a database of the user's own.
fn own_data(args: &QuickArgs, path: &Path) -> String {
    let text = |path: &Path| quote(&path.display().to_string());
    let keys = args.keys.as_ref().map(|keys| format!(", keys = {}", scalar(keys)));
    let keys_file = args.keys_file.as_ref().map(|file| format!(", keys_file = {}", text(file)));
    let keys: String = keys.into_iter().chain(keys_file).collect();
    format!(
        "[data]\n# A copy of it is measured.\nfrom = {{ path = {}{keys} }}\nseed = 1\n",
        text(path)
    )
}

fn data(args: &QuickArgs) -> String {
    if let Some(path) = &args.from {
        return own_data(args, path);
    }
    let amount = match (args.records.as_slice(), args.size.as_slice()) {
        ([], []) => "# At most 1 GiB: sized for the host.\nsize = \"auto\"".to_owned(),
        ([], sizes) => format!("size = {}", list(sizes)),
        (records, _) => format!("records = {}", list(records)),
    };
    format!(
        "[data]\n{amount}\nkey_bytes = {}\nvalue_bytes = {}\n# Half of each value repeats: about \
         as compressible as real data.\ncompress_to = 0.5\nseed = 1\n",
        scalar(&args.key),
        list(&args.value)
    )
}

const WHILE_LOADING: &str = "\
# The database is made without the limit: a load at random in so little memory would take hours.
while_loading = false
";

/// The default ratio of data to RAM: most reads of uniform keys then come from the drive.
const DATA_TO_RAM: f64 = 4.0;

fn ram(args: &QuickArgs) -> String {
    match args.ram.as_deref() {
        Some("all") => "# No RAM limit: engines and page cache use the machine's memory.\n".into(),
        Some(limit) => format!("[ram]\nlimit = {}\n{WHILE_LOADING}", quote(limit)),
        None => format!(
            "# An engine and the page cache of its files have this many times less memory than \
             data.\n[ram]\ndata_to_ram = {}\n{WHILE_LOADING}",
            args.data_to_ram.unwrap_or(DATA_TO_RAM)
        ),
    }
}

fn run(args: &QuickArgs) -> String {
    format!(
        "[run]\nthreads = {:?}\ntrials = {}\n# Each thread count works on a copy of the loaded \
         database.\ndatabase = \"state\"\nslice = \"250ms\"\n",
        args.threads, args.trials
    )
}

fn engine(engine: &AskedEngine, args: &QuickArgs) -> String {
    let (name, version) = split_version(&engine.typed);
    let versions = version.map(|version| format!("versions = [{}]\n", quote(version)));
    format!(
        "[[engine]]\nname = {}\n{}durability = {}\n{}",
        quote(name),
        versions.unwrap_or_default(),
        quote(args.durability.as_deref().unwrap_or(ASYNC)),
        engine
            .description
            .as_ref()
            .filter(|_| args.from.is_none())
            .map(|description| options(description, args))
            .unwrap_or_default()
    )
}

/// The preset, if the engine has one, and no compression, because other engines have none.
fn options(engine: &Description, args: &QuickArgs) -> String {
    let preset = Preset::from(args.preset);
    let settings = || engine.options.iter().flat_map(|option| &option.presets);
    let has_preset = settings().any(|setting| setting.preset == preset);
    let mut text = String::new();
    if has_preset || preset == Preset::Defaults {
        text += &format!(
            "# `kvdyno engines {}` shows the reason for each value.\npreset = {}\n",
            engine.name,
            quote(preset.as_str())
        );
    }
    let is_tuned = preset == Preset::Tuned;
    let compressors: Vec<String> =
        engine.options.iter().filter(|_| is_tuned).filter_map(no_compression_line).collect();
    if !compressors.is_empty() {
        text += "# Like engines without compression.\n";
        text += &format!("options = {{ {} }}\n", compressors.join(", "));
    }
    text
}

/// `compression = "none"`, if the option's default compresses.
fn no_compression_line(option: &OptionSpec) -> Option<String> {
    const ANY: u64 = 1 << 30;
    let tuned = option.preset_value(Preset::Tuned, ANY).ok().flatten();
    let value = tuned.unwrap_or_else(|| option.default.clone());
    let none = option.no_compressor().filter(|_| option.compresses(&value))?;
    Some(format!("{} = {}", option.name, quote(none)))
}

/// `op = "get"`, or a scan.
fn read(args: &QuickArgs) -> String {
    match &args.scan {
        Some(length) => format!("op = \"scan\", length = {}", scalar(length)),
        None => "op = \"get\"".to_owned(),
    }
}

fn keys(args: &QuickArgs) -> String {
    match args.zipf {
        Some(theta) => format!("keys = {{ distribution = \"zipf\", theta = {theta:?} }}"),
        None => "keys = { distribution = \"uniform\" }".to_owned(),
    }
}

/// The phase of clients that each read and update.
fn format_mixed_phase(args: &QuickArgs, percent: u32) -> String {
    let read = read(args);
    let mix: Vec<String> = [(percent, read.as_str()), (100 - percent, "op = \"update\"")]
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .map(|(weight, op)| format!("{{ {op}, weight = {weight} }}"))
        .collect();
    let open_loop = |rate: &String| {
        format!("# An open loop: operations are due at random times.\nrate = {}\n", scalar(rate))
    };
    format!(
        "[[phase]]\nkind = \"measure\"\nwarmup = \"1s\"\nduration = {}\n\n[[phase.role]]\n\
         name = \"clients\"\nthreads = \"sweep\"\nmix = [{}]\n{}\n{}",
        quote(args.point_duration()),
        mix.join(", "),
        keys(args),
        args.rate.as_ref().map(open_loop).unwrap_or_default()
    )
}

/// The phase of a writer alone, measured by the case that loads.
fn lone_writer(args: &QuickArgs) -> String {
    format!(
        "# One writer alone, as fast as it goes: once for all thread counts.\n\
         [[phase]]\nkind = \"evict\"\nname = \"alone-cold\"\n\n\
         [[phase]]\nkind = \"warm\"\nname = \"alone-warm\"\n\n\
         [[phase]]\nkind = \"measure\"\nname = \"alone\"\nonce = true\nwarmup = \"1s\"\n\
         duration = {}\n\n[[phase.role]]\nname = \"writer\"\nmix = [{{ op = \"update\" }}]\n{}\n\n",
        quote(args.point_duration()),
        keys(args)
    )
}

fn readers_beside_writer(args: &QuickArgs) -> String {
    let keys = keys(args);
    format!(
        "[[phase]]\nkind = \"measure\"\nname = \"measure\"\nwarmup = \"1s\"\nduration = {}\n\n\
         [[phase.role]]\nname = \"readers\"\nthreads = \"sweep\"\nmix = [{{ {} }}]\n{keys}\n\n\
         # As fast as it goes, each engine would disturb its readers by another number of updates. \
         All get\n# one rate: half of what the slowest did alone, found once before the first \
         trial.\n[[phase.role]]\nname = \"writer\"\nmix = [{{ op = \"update\" }}]\n{keys}\n\
         rate = {{ share = 0.5, of = \"alone\" }}\n",
        quote(args.point_duration()),
        read(args)
    )
}

/// The name of the suite, and of its runs: `quick-lmdb-rocksdb`.
fn name(engines: &[&str]) -> String {
    let letter = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let names = engines.join("-").to_ascii_lowercase();
    format!("quick-{names}").chars().map(letter).take(NAME_CHARS_MAX).collect()
}

/// The longest name of a suite.
const NAME_CHARS_MAX: usize = 64;

fn title(args: &QuickArgs, engines: &[&str]) -> String {
    let read = match &args.scan {
        Some(length) => format!("scans of {length}"),
        None => "gets".to_owned(),
    };
    let mix = match args.read_percent() {
        None => format!("{read} beside a writer of one rate, and updates alone"),
        _ if args.has_ycsb() => return format!("{}: a workload of YCSB", engines.join(", ")),
        Some(100) => read,
        Some(0) => "updates".to_owned(),
        Some(percent) => format!("{percent} % {read}, {} % updates", 100 - percent),
    };
    let mix = match args.zipf {
        Some(theta) => format!("{mix}, keys by Zipf {theta}"),
        None => mix,
    };
    if let Some(database) = &args.from {
        let name = database.file_name().unwrap_or(database.as_os_str()).to_string_lossy();
        return format!("{}: {mix}, records of {name}", engines.join(", "));
    }
    let bytes = |typed: &String| match typed.parse::<u64>() {
        Ok(bytes) => format!("{bytes} B"),
        Err(_) => typed.clone(),
    };
    let values: Vec<String> = args.value.iter().map(bytes).collect();
    format!("{}: {mix}, values of {}", engines.join(", "), values.join(", "))
}

/// A TOML value: a number as it is, other text in quotes.
fn scalar(typed: &str) -> String {
    let bare = typed.parse::<u64>().is_ok();
    if bare { typed.to_owned() } else { quote(typed) }
}

fn list(typed: &[String]) -> String {
    match typed {
        [value] => scalar(value),
        several => {
            let each: Vec<String> = several.iter().map(|value| scalar(value)).collect();
            format!("[{}]", each.join(", "))
        }
    }
}

fn quote(typed: &str) -> String {
    Value::String(typed.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;
    use kvdyno_record::engine::{Capabilities, Durability, Planning, PowerLoss};
    use kvdyno_suite::{Overrides, Suite};
    use std::collections::BTreeMap;

    /// `LMDB` has no compression, `RocksDB` two compressors, direct no preset.
    fn parse_engine(typed: &str) -> AskedEngine {
        let (name, _) = split_version(typed);
        let words = |option: &str, words: &[&str]| OptionSpec::choice(option, words, "");
        let options = match name {
            "lmdb" => vec![OptionSpec::flag("readahead", false, "").tuned(false, "", "")],
            "rocksdb" => vec![
                OptionSpec::bytes("block_cache", 32 << 20, "").tuned("33%", "", ""),
                words("compression", &["snappy", "none", "lz4"]).tuned("lz4", "", ""),
                words("bottommost_compression", &["same", "none", "zstd"]).tuned("zstd", "", ""),
                words("blob_compression_type", &["none", "lz4"]),
            ],
            _ => Vec::new(),
        };
        let description = Description {
            name: name.to_owned(),
            title: name.to_owned(),
            version: "1".to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities::minimal([(Durability::Async, PowerLoss::LosesLast, "")]),
            options,
            planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 0 },
        };
        AskedEngine {
            typed: typed.to_owned(),
            name: name.to_owned(),
            description: Some(description),
        }
    }

    fn parse_typed(typed: &str) -> (QuickArgs, Vec<AskedEngine>) {
        let line = format!("kvdyno quick {typed}");
        let Command::Quick(args) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!("{line}")
        };
        let engines = args.engines.iter().map(|engine| parse_engine(engine)).collect();
        (*args, engines)
    }

    fn text(typed: &str) -> String {
        let (args, engines) = parse_typed(typed);
        suite(&args, &engines, Extras { null: true, drive: true })
    }

    #[test]
    fn a_question_is_a_suite_that_reads_well() {
        insta::assert_snapshot!(text("lmdb rocksdb --records 10M --value 1KB --read 95"));
    }

    #[test]
    fn readers_and_writers_are_apart_unless_they_are_mixed() {
        insta::assert_snapshot!(text("lmdb rocksdb --scan 10"));
    }

    #[test]
    fn a_title_says_how_keys_are_drawn_unless_evenly() {
        assert!(text("lmdb --read 80 --zipf 0.99").contains("20 % updates, keys by Zipf 0.99"));
        assert!(!text("lmdb --read 80").contains("Zipf"));
    }

    #[test]
    fn every_question_parses() {
        for typed in [
            "lmdb",
            "lmdb direct --size 20GiB --value 100,1000,4000 --read 0 --ram all",
            "rocksdb --scan 100 --read 100 --zipf 1 --rate 5k --durability sync --ram 1GiB",
            "lmdb --data-to-ram 2.5 --key 20 --threads 8 --trials 1 --duration 30s",
        ] {
            let text = text(typed);
            let suite = Suite::parse("quick", &text, &Overrides::default());
            suite.unwrap_or_else(|error| panic!("{typed}:\n{}", error.render(false)));
        }
    }

    #[test]
    fn each_engine_has_the_preset_and_compresses_only_where_it_is_as_it_comes() {
        let tuned = text("direct rocksdb@9.10.0 --ram 512MiB");
        assert_eq!(tuned.matches("preset = \"tuned\"").count(), 1, "{tuned}");
        let off = "options = { compression = \"none\", bottommost_compression = \"none\" }";
        assert!(tuned.contains(off), "{tuned}");
        let defaults = text("lmdb rocksdb --preset defaults");
        assert_eq!(defaults.matches("preset = \"defaults\"").count(), 2, "{defaults}");
        assert!(!defaults.contains("none"), "{defaults}");
    }

    #[test]
    fn what_is_typed_stays_a_value() {
        let text = text("lmdb --value 1\"\\nseed=2");
        let error = Suite::parse("quick", &text, &Overrides::default()).unwrap_err();
        assert_eq!(error.mistakes.len(), 1, "{}", error.render(false));
    }
}
