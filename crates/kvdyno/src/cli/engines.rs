//! `engines` and `new-engine`: what can be typed.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  kvdyno engines                    all that are found, and where
  kvdyno engines rocksdb            its options with defaults, and what each durability class means
  kvdyno engines list               the libraries that are installed, by version
  kvdyno engines get rocksdb 9.10.0
  KVDYNO_ENGINE_PATH=~/my-engines kvdyno engines --json

An engine is a program `kvdyno-NAME`. It is looked for next to kvdyno, in the folders of
KVDYNO_ENGINE_PATH, then in those of PATH. Some load the engine as a library (`get`): a suite says
`versions = [\"9.10.0\", \"11.8.1\"]`, or `library = \"PATH\"` for a build of your own."
)]
pub(crate) struct EnginesArgs {
    #[command(subcommand)]
    pub(crate) action: Option<EnginesAction>,
    /// Only this engine, with its options
    pub(crate) name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with engines.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum EnginesAction {
    /// Fetch or build released versions of an engine that is loaded as a library
    Get(GetArgs),
    /// Make a library out of a build of your own, where an engine needs a shim
    Build(BuildArgs),
    /// List the libraries that are installed, and releases that can be fetched
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno engines get rocksdb                        the newest release that is known
  kvdyno engines get rocksdb 6.29.5 9.10.0 11.8.1   to compare them: versions = [...] in a suite
  kvdyno engines get wiredtiger                     built here, in one to three minutes
  kvdyno engines get leveldb                        the system's package, with a shim
  kvdyno engines get redis                          the system's package, not installed

RocksDB's binaries are its authors' own, fetched by `mvn` (17 to 92 MB each) and checked. WiredTiger
is built from its authors' sources, fetched by `pip` and checked, for this machine's processor.
Servers (redis, postgres, mariadb, memcached) are the distribution's packages, fetched by `apt-get`
with what they need, and unpacked: nothing is installed, no service starts. All are kept in
~/.cache/kvdyno/libraries; libraries in the folders of KVDYNO_LIBRARY_PATH, and in `libraries` next
to kvdyno, are found as well.")]
pub(crate) struct GetArgs {
    /// The engine
    pub(crate) name: String,
    /// Its versions; none: the newest that is known
    #[arg(value_name = "VERSION")]
    pub(crate) versions: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno engines build wiredtiger --prefix ~/wiredtiger/build
  kvdyno engines build leveldb --prefix /usr/local --output ~/leveldb.so

These engines' libraries are not of plain C functions of one layout, so kvdyno's worker loads them
with a shim around them. This compiles the shim against your build's header and links the two into
one file, which a suite names: library = \"PATH\". DIR is where the build was installed, or made.")]
pub(crate) struct BuildArgs {
    /// The engine
    pub(crate) name: String,
    /// The folder with your build: its `include`, and its library there or in `lib`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) prefix: PathBuf,
    /// The file to make [default: kvdyno-NAME.so here]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno new-engine mine                 writes kvdyno-mine/ here
  kvdyno new-engine mine --into ~/code   writes ~/code/kvdyno-mine/

Then, in that folder:
  cargo test                             the conformance kit
  cargo build --release
  KVDYNO_ENGINE_PATH=$PWD/target/release kvdyno run quick --engine mine --no-ram-limit

What is written is a whole engine: the two traits in src/main.rs, and in src/store.rs an ordered map
with a log in a file, to be replaced by your own. The map lies in memory: hence --no-ram-limit. The
folder can be anywhere, and nothing in kvdyno has to know of it. docs/add-an-engine.md goes on.")]
pub(crate) struct NewEngineArgs {
    /// What suites call it: a-z, 0-9, - and _
    pub(crate) name: String,
    /// The folder in which its folder `kvdyno-NAME` is made
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
}
