//! `--set-db_bench "--block_size=8192 --num=1000000"`: changes a suite by the flags of `db_bench`.
//! Each flag becomes a `path=value` of `--set`.

pub(crate) mod benchmarks;
mod edits;
mod engine_flags;
mod flags;
mod options_file;
mod other_flags;
#[cfg(test)]
mod script_tests;
#[cfg(test)]
mod tests;
mod words;
mod workload;

use crate::edit::adjust;
use crate::edit::overrides::Overrides;
use crate::written::mistake::Mistakes;
use crate::written::source::Source;
use edits::FlagEdits;
use flags::Flag;
use toml::de::DeTable;
use words::Typed;

/// The option that passes the flags.
pub(crate) const OPTION: &str = "--set-db_bench";

/// The flag that names a file of options.
const OPTIONS_FILE: &str = "options_file";

/// gflags' flag that names a file of flags.
const FLAG_FILE: &str = "flagfile";

/// The deepest nesting of flag files: files that name each other would never end.
const FLAG_FILES_DEEP: usize = 8;

/// The options of engine `rocksdb` that flags of `db_bench` set, each once.
pub fn db_bench_options() -> Vec<&'static str> {
    let options = flags::all().filter_map(|(_, flag)| match flag {
        Flag::Option(name)
        | Flag::Least(name)
        | Flag::Positive(name)
        | Flag::Switch(name)
        | Flag::EitherWord(name, _)
        | Flag::Numbered(name, _, _)
        | Flag::PowerOrAuto(name)
        | Flag::Percent(name) => Some(name),
        Flag::Transactions(_) => Some("transactions"),
        Flag::Own(_)
        | Flag::OwnPositive(_)
        | Flag::OwnSwitch(_)
        | Flag::OwnNumbered(..)
        | Flag::OwnWords(..)
        | Flag::OwnIf(_) => Some("options"),
        Flag::Count(_)
        | Flag::Number(_)
        | Flag::Work(_)
        | Flag::Harmless
        | Flag::HarmlessSwitch
        | Flag::Automatic(_)
        | Flag::Only(..)
        | Flag::OnlySwitch(..)
        | Flag::Published(_)
        | Flag::Nothing(_) => None,
    });
    let mut options: Vec<&str> = options.collect();
    options.sort_unstable();
    options.dedup();
    options
}

/// Reads the files that flags name with `--options_file` and `--flagfile`: path and text of each.
pub fn read_db_bench_files<E>(
    text: &str,
    read: impl Fn(&str) -> Result<String, E>,
) -> Result<Vec<(String, String)>, E> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut texts = vec![text.to_owned()];
    while let Some(text) = texts.pop() {
        let mut source = Source::new(OPTION, "");
        for flag in words::parse(&text, OPTION, &mut source, &mut Mistakes::default()) {
            let Some((kind, path)) = file_name(&flag) else { continue };
            if files.iter().any(|(other, _)| other == path) {
                continue;
            }
            let text = read(path)?;
            texts.extend((kind == FLAG_FILE).then(|| text.clone()));
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}

/// The kind and the path of a file that a flag names.
fn file_name(flag: &Typed) -> Option<(&str, &str)> {
    let is_file = flag.name == OPTIONS_FILE || flag.name == FLAG_FILE;
    let path = flag.value.as_deref().filter(|path| is_file && !path.is_empty())?;
    Some((&flag.name, path))
}

/// Translates the flags into arguments for a suite with these tables. Returns the arguments and
/// notes.
pub(crate) fn arguments(
    overrides: &Overrides,
    suite: &DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<String>, Vec<String>) {
    let mut typed = Vec::new();
    for text in &overrides.db_bench {
        typed.extend(with_flag_files(text, OPTION, 0, overrides, source, mistakes));
    }
    // Flags override files, whatever their order.
    let (files, flags): (Vec<Typed>, Vec<_>) = typed
        .into_iter()
        .partition(|flag| file_name(flag).is_some_and(|(kind, _)| kind == OPTIONS_FILE));
    let mut edits = FlagEdits::new(suite, overrides);
    for flag in &files {
        let Some((_, path)) = file_name(flag) else { continue };
        let Some(text) = file_text(path, flag, overrides, mistakes) else { continue };
        let start = source.add(path, text);
        let file = options_file::read(text, start, &db_bench_options(), mistakes);
        edits.apply_file(path, &file, &flag.span, mistakes);
    }
    edits.apply_flags(&flags, mistakes);
    edits.finish(&flags, mistakes)
}

/// Returns the flags of a text, with each flag file replaced by its flags.
fn with_flag_files(
    text: &str,
    option: &str,
    depth: usize,
    overrides: &Overrides,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> Vec<Typed> {
    let mut all = Vec::new();
    for flag in words::parse(text, option, source, mistakes) {
        let Some((FLAG_FILE, path)) = file_name(&flag) else {
            all.push(flag);
            continue;
        };
        if depth == FLAG_FILES_DEEP {
            mistakes.at(&flag.span, "flag files name each other").label("expected an end");
            continue;
        }
        if let Some(text) = file_text(path, &flag, overrides, mistakes) {
            all.extend(with_flag_files(text, path, depth + 1, overrides, source, mistakes));
        }
    }
    all
}

fn file_text<'o>(
    path: &str,
    flag: &Typed,
    overrides: &'o Overrides,
    mistakes: &mut Mistakes,
) -> Option<&'o str> {
    let text = overrides.db_bench_files.iter().find(|(name, _)| name == path);
    if text.is_none() {
        mistakes.at(&flag.span, format!("{path} was not read")).label("expected a file");
    }
    text.map(|(_, text)| text.as_str())
}

/// Removes keys of `[run]` that flags have set from every part.
pub(crate) fn drop_part_keys(arguments: &[String], suite: &mut DeTable<'_>) {
    for key in ["threads", "phases"] {
        if arguments.iter().any(|argument| argument.starts_with(&format!("run.{key}="))) {
            adjust::remove_from_parts(suite, key);
        }
    }
}
