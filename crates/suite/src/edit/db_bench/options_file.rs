//! `--options_file=PATH`: translates the options file that `RocksDB` writes next to each database
//! into options of engine `rocksdb`. Known options are set by name, others are passed on unchanged.

use super::edits::closest_name;
use crate::written::mistake::Mistakes;
use crate::written::source::Span;
use std::collections::BTreeMap;

/// `RocksDB`'s defaults of options that have no name here.
const DEFAULTS: &str = include_str!("defaults.ini");

/// The option that contains table options, in `RocksDB`'s own string form.
const TABLE: &str = "block_based_table_factory";

/// The reason that an unknown option is left out.
const VERSIONS: &str = "objects of a program, or not in the OPTIONS files of RocksDB 6.29.5, \
                        7.10.2, 8.11.4, 9.10.0, 10.10.1 and 11.8.1 that kvdyno knows";

const ELSEWHERE: &str = "expected no value: a run writes only to its own directory";

/// The parts of a file that kvdyno uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OptionsFile {
    /// The version of `RocksDB` that wrote it.
    pub(super) version: Option<String>,
    /// Options of the engine, by their names here.
    pub(super) options: Vec<(&'static str, String)>,
    /// Options that are passed on unchanged, by their path: `compression_opts.level`.
    pub(super) passed_on: Vec<(String, String)>,
    /// Number of options that have `RocksDB`'s defaults, or that the run sets itself.
    pub(super) ignored: usize,
    /// Options that kvdyno does not know, and objects of a program: `name=value`.
    left_out: Vec<String>,
    /// Old names of options, with the new name.
    renamed: Vec<(String, &'static str)>,
}

impl OptionsFile {
    /// Returns notes on the effect of the file at this path.
    pub(super) fn notes(&self, path: &str) -> Vec<String> {
        let Self { version, options, passed_on, ignored, left_out, renamed } = self;
        let cached = options.iter().any(|(name, _)| *name == "block_cache");
        let mut notes = vec![format!(
            "OPTIONS file {path} of RocksDB {}: {} options by name, {} passed on unchanged, \
             {ignored} with RocksDB's defaults or the run's own values{}",
            version.as_deref().unwrap_or("(unknown version)"),
            options.len(),
            passed_on.len(),
            if cached { "" } else { "; the file does not contain the block cache size" },
        )];
        notes.extend(renamed.iter().map(|(old, new)| {
            format!("OPTIONS file {path}: `{old}` is the old name of `{new}`, at its default")
        }));
        if !left_out.is_empty() {
            notes.push(format!(
                "OPTIONS file {path}: left out {} ({VERSIONS})",
                left_out.join(", ")
            ));
        }
        notes
    }
}

/// One line, or one member of a line that has several.
struct Setting<'t> {
    name: String,
    value: &'t str,
    table: bool,
}

/// The translation of a setting.
enum Translation {
    Option(&'static str, String),
    PassOn,
    Ignore,
    /// It has no equivalent here.
    LeaveOut,
    /// The old name of this option, at the option's default.
    OldName(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Version,
    Database,
    Family,
    Table,
    /// A section that was refused.
    Other,
}

/// Reads a file that begins at offset `start` of the source; `named` are the engine's options.
pub(super) fn read(
    text: &str,
    start: usize,
    named: &[&'static str],
    mistakes: &mut Mistakes,
) -> OptionsFile {
    let defaults = defaults();
    let mut file = OptionsFile::default();
    let mut section = Section::Other;
    let mut offset = start;
    for line in text.split_inclusive('\n') {
        let begin = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        let line = without_comment(line).trim();
        let span = begin..begin + line.len();
        if line.starts_with('[') {
            section = open_section(line, &span, mistakes);
        } else if let Some((name, value)) = line.split_once('=') {
            let (name, value) = (name.trim(), value.trim());
            match section {
                Section::Version if name == "rocksdb_version" => {
                    file.version = Some(value.to_owned());
                }
                Section::Version | Section::Other => {}
                Section::Database | Section::Family | Section::Table => {
                    let table = section == Section::Table;
                    for setting in members(name, value, table, &defaults) {
                        file.apply(&setting, &span, (named, &defaults), mistakes);
                    }
                }
            }
        } else if !line.is_empty() {
            mistakes.at(&span, "invalid line in an OPTIONS file").label("expected name=value");
        }
    }
    file
}

/// The section that a line begins.
fn open_section(line: &str, span: &Span, mistakes: &mut Mistakes) -> Section {
    let title = line.trim_matches(['[', ']']);
    let (kind, family) = title.split_once('"').unwrap_or((title, ""));
    let family = family.trim_end_matches('"');
    match (kind.trim(), family) {
        ("Version", "") => Section::Version,
        ("DBOptions", "") => Section::Database,
        ("CFOptions", "default") => Section::Family,
        ("TableOptions/BlockBasedTable", "default") => Section::Table,
        // The sections of a refused family are not reported again.
        (kind, family) if kind.starts_with("TableOptions/") && family != "default" => {
            Section::Other
        }
        ("CFOptions", family) => {
            let mistake = mistakes.at(span, format!("column family `{family}` is not supported"));
            mistake.label("expected only `default`: a case has one database with one family");
            mistake.help("remove its sections from a copy of the file");
            Section::Other
        }
        (kind, _) => {
            let mistake = mistakes.at(span, format!("section `{kind}` is not supported"));
            mistake.label(
                "expected Version, DBOptions, CFOptions \"default\" or \
                 TableOptions/BlockBasedTable \"default\"",
            );
            Section::Other
        }
    }
}

/// A line up to a `#` that is not escaped.
fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    let end = line.char_indices().find(|(_, c)| {
        let ends = *c == '#' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(line, |(index, _)| &line[..index])
}

/// Returns the setting, or its members: `compression_opts={level=3;strategy=0;}`. Values of options
/// without known members stay whole.
fn members<'t>(name: &str, value: &'t str, table: bool, defaults: &Defaults) -> Vec<Setting<'t>> {
    let inside = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
    let prefix = format!("{name}.");
    let has_members = defaults.keys().any(|name| name.starts_with(&prefix));
    match inside.filter(|_| has_members) {
        None => vec![Setting { name: name.to_owned(), value, table }],
        Some(inside) => inside
            .split(';')
            .filter_map(|member| member.split_once('='))
            .map(|(member, value)| Setting {
                name: format!("{prefix}{}", member.trim()),
                value: value.trim(),
                table,
            })
            .collect(),
    }
}

type Defaults = BTreeMap<&'static str, Option<&'static str>>;

fn defaults() -> Defaults {
    let lines = DEFAULTS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_once('=').map_or((line, None), |(name, value)| (name, Some(value))))
        .collect()
}

impl OptionsFile {
    fn apply(
        &mut self,
        setting: &Setting<'_>,
        span: &Span,
        names: (&[&'static str], &Defaults),
        mistakes: &mut Mistakes,
    ) {
        let Setting { name, value, table } = setting;
        match translate(name, value, names) {
            Ok(Translation::Option(option, value)) => self.options.push((option, value)),
            Ok(Translation::Ignore) => self.ignored += 1,
            Ok(Translation::LeaveOut) => self.left_out.push(format!("{name}={value}")),
            Ok(Translation::OldName(new)) => self.renamed.push((name.clone(), new)),
            Ok(Translation::PassOn) => {
                let path = if *table { format!("{TABLE}.{name}") } else { name.clone() };
                self.passed_on.push((path, unescape(value)));
            }
            Err(Refusal::Value(expected)) => {
                mistakes.at(span, format!("`{name}` cannot be `{value}`")).label(expected);
            }
            Err(Refusal::Unknown(near)) => {
                let message = format!("unknown RocksDB option `{name}`");
                let mistake = mistakes.at(span, message);
                mistake.label(format!("did you mean `{near}`?"));
                mistake.help(
                    "change it in a copy of the file; pass options of other versions by --set \
                     engine.rocksdb.options.options=\"name=value\"",
                );
            }
        }
    }
}

enum Refusal {
    /// The expected value.
    Value(String),
    /// A similar name.
    Unknown(String),
}

fn translate(
    name: &str,
    value: &str,
    (named, defaults): (&[&'static str], &Defaults),
) -> Result<Translation, Refusal> {
    if let Some(renamed) =
        object_or_old_name(name, value).or_else(|| translate_renamed(name, value))
    {
        return renamed.map_err(Refusal::Value);
    }
    if let Some(option) = named.iter().copied().find(|option| *option == name) {
        return Ok(Translation::Option(option, value.to_owned()));
    }
    match defaults.get(name) {
        Some(Some(default)) if equal(value, default) => Ok(Translation::Ignore),
        Some(_) => Ok(Translation::PassOn),
        None => {
            let candidates: Vec<&str> =
                defaults.keys().copied().chain(named.iter().copied()).collect();
            match closest_name(name, &candidates) {
                Some(near) => Err(Refusal::Unknown(near.to_owned())),
                None => Ok(Translation::LeaveOut),
            }
        }
    }
}

/// Translates objects of a program and old names of options; `None`: it is neither.
fn object_or_old_name(name: &str, value: &str) -> Option<Result<Translation, String>> {
    Some(match (name, value) {
        ("listeners", "" | "{}") => Ok(Translation::Ignore),
        ("listeners", _) => Ok(Translation::LeaveOut),
        ("bottommost_temperature", "kUnknown") => {
            Ok(Translation::OldName("last_level_temperature"))
        }
        ("bottommost_temperature", _) => {
            let expected = "expected kUnknown: later versions have it as `last_level_temperature`";
            Err(expected.to_owned())
        }
        _ => return None,
    })
}

/// Translates options with another name or form here, and options that the run sets itself.
fn translate_renamed(name: &str, value: &str) -> Option<Result<Translation, String>> {
    let option = |name, value: &str| Ok(Translation::Option(name, value.to_owned()));
    let whole = |name, number: f64| match number {
        whole if whole.fract() == 0.0 => option(name, &format!("{whole:.0}")),
        _ => Ok(Translation::PassOn),
    };
    let number = value.parse::<f64>().map_err(|_| "expected a number".to_owned());
    let only = |matches: bool, expected: &str| {
        if matches { Ok(Translation::Ignore) } else { Err(expected.to_owned()) }
    };
    Some(match name {
        // The run creates and opens databases itself.
        "create_if_missing" | "create_missing_column_families" | "error_if_exists" => {
            Ok(Translation::Ignore)
        }
        "wal_dir" | "db_log_dir" => only(value.is_empty(), ELSEWHERE),
        "db_paths" | "cf_paths" | "env" => Err(ELSEWHERE.to_owned()),
        "comparator" => {
            let expected = "expected leveldb.BytewiseComparator: keys are ordered by their bytes";
            only(value == "leveldb.BytewiseComparator", expected)
        }
        "table_factory" => only(value == "BlockBasedTable", "expected BlockBasedTable"),
        "memtable_factory" => match value {
            "SkipListFactory" | "{id=SkipListFactory;lookahead=0;}" => {
                option("memtable", "skip_list")
            }
            "VectorRepFactory" | "{id=VectorRepFactory;count=0;}" => option("memtable", "vector"),
            _ => Err("expected SkipListFactory or VectorRepFactory".to_owned()),
        },
        "compression" => {
            translate_compression(name, value).map(|word| Translation::Option("compression", word))
        }
        "bottommost_compression" if value == "kDisableCompressionOption" => {
            option("bottommost_compression", "same")
        }
        "bottommost_compression" => translate_compression(name, value)
            .map(|word| Translation::Option("bottommost_compression", word)),
        "blob_compression_type" => translate_compression(name, value)
            .map(|word| Translation::Option("blob_compression_type", word)),
        "compaction_style" => match value {
            "kCompactionStyleLevel" => option("compaction_style", "level"),
            "kCompactionStyleUniversal" => option("compaction_style", "universal"),
            _ => Err("expected kCompactionStyleLevel or kCompactionStyleUniversal".to_owned()),
        },
        "compaction_options_universal.size_ratio" => option("universal_size_ratio", value),
        "compaction_options_universal.min_merge_width" => {
            option("universal_min_merge_width", value)
        }
        "compaction_options_universal.max_merge_width" => {
            option("universal_max_merge_width", if value == "4294967295" { "0" } else { value })
        }
        "compaction_options_universal.max_size_amplification_percent" => {
            option("universal_max_size_amplification_percent", value)
        }
        "filter_policy" => filter(value),
        "no_block_cache" if value == "true" => option("block_cache", "0"),
        "no_block_cache" => Ok(Translation::Ignore),
        "max_open_files" if value == "-1" => option("max_open_files", "0"),
        "max_bytes_for_level_multiplier" => {
            number.and_then(|times| whole("max_bytes_for_level_multiplier", times))
        }
        "blob_garbage_collection_age_cutoff" => number
            .and_then(|share| whole("blob_garbage_collection_age_cutoff_percent", share * 100.0)),
        _ => return None,
    })
}

/// Returns the name of a compression type here.
fn translate_compression(name: &str, value: &str) -> Result<String, String> {
    let words = [
        ("kNoCompression", "none"),
        ("kSnappyCompression", "snappy"),
        ("kZlibCompression", "zlib"),
        ("kLZ4Compression", "lz4"),
        ("kZSTD", "zstd"),
    ];
    let words = words.iter().filter(|(_, word)| name != "blob_compression_type" || *word != "zlib");
    let translated = words.clone().find(|(rocksdb_word, _)| *rocksdb_word == value);
    translated.map(|(_, word)| (*word).to_owned()).ok_or_else(|| {
        let all: Vec<&str> = words.map(|(rocksdb_word, _)| *rocksdb_word).collect();
        format!("expected {}", all.join(" or "))
    })
}

/// Translates a filter. Versions before 7 write only its kind without the bits.
fn filter(value: &str) -> Result<Translation, String> {
    let bits = value.strip_prefix("bloomfilter:").and_then(|rest| rest.split(':').next());
    match (value, bits.and_then(|bits| bits.parse::<u64>().ok())) {
        ("nullptr" | "", _) => Ok(Translation::Option("bloom_bits", "0".to_owned())),
        (_, Some(bits)) if !value.ends_with(":true") => {
            Ok(Translation::Option("bloom_bits", bits.to_string()))
        }
        ("rocksdb.BuiltinBloomFilter", _) => {
            Err("expected the bits, as bloomfilter:10:false: the file has only the kind of filter"
                .to_owned())
        }
        _ => Ok(Translation::PassOn),
    }
}

/// Returns whether two values are equal as text or as numbers: `0.0` is `0`.
pub(super) fn equal(value: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    value == other || number(value).is_some_and(|value| Some(value) == number(other))
}

/// Removes the backslashes that a file needs before `:` and `#`.
fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                other => text.extend(other),
            },
            _ => text.push(letter),
        }
    }
    text
}

/// Formats options in `RocksDB`'s own string form; members of one option are grouped in braces.
pub(super) fn format_options(options: &[(&str, &str)]) -> String {
    let mut text: Vec<String> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for (path, value) in options {
        let Some((outer, _)) = path.split_once('.') else {
            text.push(format!("{path}={value}"));
            continue;
        };
        if done.contains(&outer) {
            continue;
        }
        done.push(outer);
        let inside = options.iter().filter_map(|(path, value)| {
            let (other, inner) = path.split_once('.')?;
            (other == outer).then_some((inner, *value))
        });
        text.push(format!("{outer}={{{}}}", format_options(&inside.collect::<Vec<_>>())));
    }
    text.join(";")
}
