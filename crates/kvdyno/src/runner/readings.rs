//! Files of readings: one JSON value a line.

use serde::Serialize;
use std::fs::File;
use std::io::Write as _;

/// One line of a file of readings. That one is lost must not end a case.
pub(super) fn append(mut file: &File, reading: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(reading) {
        line.push(b'\n');
        let _ = file.write_all(&line);
    }
}
