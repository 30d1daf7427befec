//! The page: the built program with the data put into its one place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write as _};

/// What a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One run.
    Report,
    /// The list of runs.
    Runs,
    /// Two runs, or two engines of one.
    Versus,
    /// A suite's figures over its runs.
    Trend,
    /// A suite's figures by host.
    Fleet,
    /// What is in a trace.
    Trace,
}

/// The page as `report/` builds it (`make page`), without data. It is kept in the repository, so
/// that this program's build needs no Node.js.
pub const TEMPLATE: &str = include_str!("../../../../report/dist/index.html");

/// Where the data goes.
const PLACEHOLDER: &str = "%KVDYNO_DATA%";

/// The page with its data: compressed JSON in base64, in which nothing can end the element it
/// stands in.
///
/// # Errors
/// When the template has no place for the data.
pub fn html(template: &str, data: &impl Serialize) -> io::Result<String> {
    let Some((before, after)) = template.split_once(PLACEHOLDER) else {
        return Err(io::Error::other("the page has no place for its data"));
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&serde_json::to_vec(data)?)?;
    let data = STANDARD.encode(gzip.finish()?);
    Ok([before, &data, after].concat())
}
