//! Files of readings: one JSON value per line.

use serde::Serialize;
use std::fs::File;
use std::io::Write as _;

/// Writes one line of a file of readings. A lost line must not end a case.
pub(super) fn append(mut file: &File, reading: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(reading) {
        line.push(b'\n');
        let _ = file.write_all(&line);
    }
}
