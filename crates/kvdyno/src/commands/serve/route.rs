//! Parses the path of a request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters to encode: all but those of ids.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The subject of a request. Names are unchecked: they are looked up in the list of runs, and never
/// become part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Runs,
    Report(String),
    Live(String),
    /// The newest run as OpenMetrics.
    Metrics,
    /// Two runs: the base, and the new one.
    Versus(String, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Page,
    Json,
    /// OpenMetrics.
    Text,
}

/// The subject of a path; none: unknown.
pub(super) fn route(path: &str) -> Option<(Subject, Form)> {
    let segments: Vec<String> =
        path.strip_prefix('/')?.split('/').map(decode).collect::<Option<_>>()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments[..] {
        [""] => Some((Subject::Runs, Form::Page)),
        ["metrics"] => Some((Subject::Metrics, Form::Text)),
        ["runs.json"] => Some((Subject::Runs, Form::Json)),
        ["runs", name, "live.json"] => Some((Subject::Live(name.to_owned()), Form::Json)),
        ["runs", last] => {
            let (name, form) = split_form(last);
            Some((Subject::Report(name), form))
        }
        ["compare", base, last] => {
            let (new, form) = split_form(last);
            Some((Subject::Versus(base.to_owned(), new), form))
        }
        _ => None,
    }
}

/// A name as a segment of a path.
pub(super) fn encode(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

fn decode(segment: &str) -> Option<String> {
    Some(percent_decode_str(segment).decode_utf8().ok()?.into_owned())
}

/// A name, and whether it has the suffix `.json`.
fn split_form(last: &str) -> (String, Form) {
    match last.strip_suffix(".json") {
        Some(name) => (name.to_owned(), Form::Json),
        None => (last.to_owned(), Form::Page),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_meaning_or_none() {
        let report = |name: &str| Subject::Report(name.to_owned());
        assert_eq!(route("/"), Some((Subject::Runs, Form::Page)));
        assert_eq!(route("/runs.json"), Some((Subject::Runs, Form::Json)));
        assert_eq!(route("/metrics"), Some((Subject::Metrics, Form::Text)));
        assert_eq!(route("/runs/a"), Some((report("a"), Form::Page)));
        assert_eq!(route("/runs/a.json"), Some((report("a"), Form::Json)));
        assert_eq!(route("/runs/a%20b"), Some((report("a b"), Form::Page)));
        let live = Subject::Live("a".to_owned());
        assert_eq!(route("/runs/a/live.json"), Some((live, Form::Json)));
        let versus = Subject::Versus("a".to_owned(), "b".to_owned());
        assert_eq!(route("/compare/a/b.json"), Some((versus, Form::Json)));
        for nothing in ["", "*", "/runs", "/runs/a/b", "/compare/a", "/favicon.ico", "/runs/%ff"] {
            assert_eq!(route(nothing), None, "{nothing}");
        }
        // Text between two slashes stays one name.
        assert_eq!(route("/runs/..%2f..%2fetc"), Some((report("../../etc"), Form::Page)));
    }
}
