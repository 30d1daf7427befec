//! Helpers of tests: traces imported from text and bytes.

use super::formats::Format;
use super::import::{Import, from_input};
use super::input::Input;
use super::reader::TraceReader;
use super::request::Request;
use super::sorting::Limits;
use super::{Header, TraceError};
use std::io::Cursor;
use std::path::Path;

/// Imports bytes, reads the trace back and returns its contents.
pub(crate) fn import_bytes(
    format: Format,
    bytes: &[u8],
) -> Result<(Header, Vec<Request>), TraceError> {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("a.kvtrace");
    let task = Import { format, from: "given".into(), to: to.clone(), limit: None, scratch: None };
    let input = Input::new("given".to_owned(), Cursor::new(bytes.to_vec()))?;
    let header = from_input(&task, input, Limits::default(), |_| {})?;
    let (read, requests) = all(&to)?;
    assert_eq!(read, Header { unended: None, ..header.clone() });
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
    Ok((header, requests))
}

/// Reads a trace's header and all its requests.
pub(crate) fn all(path: &Path) -> Result<(Header, Vec<Request>), TraceError> {
    let mut reader = TraceReader::open(path)?;
    let (mut requests, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        requests.append(&mut block);
    }
    Ok((reader.header().clone(), requests))
}

/// Returns the error message of an import of these bytes.
pub(crate) fn refusal(format: Format, bytes: &[u8]) -> String {
    import_bytes(format, bytes).map(|_| ()).unwrap_err().to_string()
}
