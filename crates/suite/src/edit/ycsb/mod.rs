//! `--set-ycsb "-P workloads/workloada -p recordcount=1000000"`: changes a suite by properties of
//! YCSB. The properties become the suite's data and its one measured phase, as values of `--set`.

mod keys;
mod properties;
#[cfg(test)]
mod tests;
mod values;
mod workload;

use crate::edit::overrides::Overrides;
use crate::written::mistake::Mistakes;
use crate::written::source::Source;
use properties::{Property, Word};
use toml::de::DeTable;
use workload::Workload;

/// The option that passes the properties.
pub(crate) const OPTION: &str = "--set-ycsb";

/// Reads the files that a command line names with `-P`: path and text of each.
pub fn read_ycsb_files<E>(
    text: &str,
    read: impl Fn(&str) -> Result<String, E>,
) -> Result<Vec<(String, String)>, E> {
    let mut source = Source::new(OPTION, "");
    let words = properties::parse_line(text, &mut source, &mut Mistakes::default());
    let files = words.into_iter().filter_map(|word| match word {
        Word::File(path, _) => Some(path),
        Word::Property(_) => None,
    });
    files.map(|path| read(&path).map(|text| (path, text))).collect()
}

/// Translates the properties into arguments for a suite with these tables. Returns the arguments
/// and notes.
pub(crate) fn arguments(
    overrides: &Overrides,
    suite: &DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> (Vec<String>, Vec<String>) {
    if overrides.ycsb.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (mut from_files, mut typed, mut file_name) = (Vec::new(), Vec::new(), None);
    for text in &overrides.ycsb {
        for word in properties::parse_line(text, source, mistakes) {
            match word {
                Word::Property(property) => typed.push(property),
                Word::File(path, span) => {
                    let file = overrides.ycsb_files.iter().find(|(name, _)| *name == path);
                    let Some((_, text)) = file else {
                        let mistake = mistakes.at(&span, format!("{path} was not read"));
                        mistake.label("expected a file");
                        continue;
                    };
                    let start = source.add(&path, text);
                    from_files.extend(properties::parse_file(text, start));
                    file_name = Some(path);
                }
            }
        }
    }
    // As in YCSB, the command line overrides files, and a later one an earlier.
    let mut last: Vec<Property> = Vec::new();
    for property in from_files.into_iter().chain(typed) {
        last.retain(|other| other.name != property.name);
        last.push(property);
    }
    Workload::new(&last, mistakes).edits(suite, file_name.as_deref(), overrides)
}
