//! The command line of `site`.

use super::RunsArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno site public                the latest run
  kvdyno site public quick 2026-11-20T10
  kvdyno site public *.tar.zst      runs of other machines, from their bundles

The directory can be put on any web server as it is; its index opens from a disk, too. The index can
be filtered and sorted. Each run has its report, tables, workbook, figures as CSV, and summary as
JSON. A later command adds its runs to the index, and replaces runs that are there. Records stay
where they are; a summary has the host's name and paths.")]
pub(crate) struct SiteArgs {
    /// The directory: new, empty, or a site
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Complete runs: directories, bundles, names, the beginning of an id or of a suite's name, or
    /// `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}
