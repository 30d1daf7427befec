//! `--name` and `--note`: a run's name and a remark. No measurement depends on them.

use crate::records::bundle::ENDING;
use clap::Args;
use kvdyno_record::run::RunRecord;

/// The longest name, in characters; a note can be longer.
const NAME_CHARS_MAX: usize = 60;

/// A run's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct NamedArgs {
    /// The run's name: in lists, on its page, and as RUN for other commands
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,
    /// A remark that is stored with the run
    #[arg(long, value_name = "TEXT", value_parser = note)]
    pub(crate) note: Option<String>,
}

impl NamedArgs {
    /// Replaces the recorded name and note by typed ones.
    pub(crate) fn rename(&self, run: &mut RunRecord) {
        run.name = self.name.clone().or_else(|| run.name.take());
        run.note = self.note.clone().or_else(|| run.note.take());
    }
}

/// The suffix of a run's data in `kvdyno serve`.
const DATA: &str = ".json";

/// Parses a name: it appears in tables, and other commands accept it instead of a directory.
fn name(typed: &str) -> Result<String, String> {
    let name = note(typed)?;
    let chars = name.chars().count();
    match name.as_str() {
        "latest" => Err("`latest` always means the newest run: expected another name".to_owned()),
        _ if name.contains('/') => {
            Err("expected a name without `/`, which would mean a directory".to_owned())
        }
        _ if name.contains(',') => {
            Err("expected a name without `,`, which separates runs".to_owned())
        }
        _ if name.ends_with(ENDING) => {
            Err(format!("expected a name without `{ENDING}` at its end, as bundles have"))
        }
        _ if name.ends_with(DATA) => Err(format!(
            "expected a name without `{DATA}` at its end, which `kvdyno serve` takes for data"
        )),
        _ if chars > NAME_CHARS_MAX => Err(format!(
            "expected at most {NAME_CHARS_MAX} characters, found {chars}: use --note for longer \
             text"
        )),
        _ => Ok(name),
    }
}

fn note(typed: &str) -> Result<String, String> {
    let text = typed.trim();
    match text {
        "" => Err("expected at least one character".to_owned()),
        text if text.chars().any(char::is_control) => {
            Err("expected one line without control characters".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_that_is_no_directory() {
        assert_eq!(name(" new cache ").unwrap(), "new cache");
        for wrong in ["", "  ", "latest", "a/b", "a,b", "a.tar.zst", "a\nb", &"x".repeat(61)] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(name(&"ü".repeat(60)).unwrap().chars().count(), 60);
    }

    #[test]
    fn what_is_not_typed_stays() {
        let mut run = kvdyno_analysis::fixture::Fixture::new().run;
        NamedArgs { name: Some("a".to_owned()), note: None }.rename(&mut run);
        NamedArgs { name: None, note: Some("b".to_owned()) }.rename(&mut run);
        assert_eq!((run.name.as_deref(), run.note.as_deref()), (Some("a"), Some("b")));
    }
}
