//! The command lines of `engines` and `new-engine`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  kvdyno engines                    the installed engines: versions and durability classes
  kvdyno engines rocksdb            its options with defaults, and its durability classes
  kvdyno engines list               the same with files and builds, and the releases to get
  kvdyno engines get rocksdb 9.10.0
  KVDYNO_ENGINE_PATH=~/my-engines kvdyno engines --json

An engine is a program `kvdyno-NAME`, or a plugin `libkvdyno-NAME.so`. kvdyno searches its own
directory, then the directories of KVDYNO_ENGINE_PATH and PATH, then the installed plugins. Some
engines are loaded as libraries (`get`): a suite selects `versions = [\"9.10.0\", \"11.8.1\"]`, or
`library = \"PATH\"` for a local build."
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
    /// Make a library from a local build, for engines that kvdyno has a plugin for
    Build(BuildArgs),
    /// List the installed libraries, and the releases that can be fetched
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno engines get rocksdb                        the newest known release
  kvdyno engines get rocksdb 6.29.5 9.10.0 11.8.1   to compare them: versions = [...] in a suite
  kvdyno engines get wiredtiger                     a plugin, built here in one to three minutes
  kvdyno engines get leveldb                        a plugin, linked with the system's package
  kvdyno engines get pebble                         a plugin, built here with Go
  kvdyno engines get tidesdb                        a plugin, built here with cargo and CMake
  kvdyno engines get redis                          the system's package, not installed

RocksDB's binaries come from its authors: `mvn` fetches them (17 to 92 MB each), and checksums are
verified. WiredTiger is a plugin in C++, built with its authors' sources for this machine's
processor: `pip` fetches them, and checksums are verified. LevelDB is another. TidesDB is a plugin
in C: `cargo` fetches the crate that contains its sources, whose checksum is verified. Pebble,
Badger and bbolt are plugins in Go: `go` fetches their modules, verifies their checksums and
compiles them. Servers (redis, postgres, mariadb, memcached) are packages of the distribution:
`apt-get` fetches them with their dependencies, and they are unpacked, not installed; no service
starts. All are stored in ~/.cache/kvdyno/libraries. kvdyno also finds libraries in the directories
of KVDYNO_LIBRARY_PATH, and in `libraries` next to its own program.")]
pub(crate) struct GetArgs {
    /// The engine
    pub(crate) name: String,
    /// The versions to get; none: the newest known version
    #[arg(value_name = "VERSION")]
    pub(crate) versions: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno engines build wiredtiger --prefix ~/wiredtiger/build
  kvdyno engines build leveldb --prefix /usr/local --output ~/leveldb.so
  kvdyno engines build tidesdb --prefix ~/tidesdb

kvdyno has a plugin for each of these engines. This command compiles it against your build's header
and links both into one file, which a suite names: library = \"PATH\". DIR is where the build was
installed, or made.")]
pub(crate) struct BuildArgs {
    /// The engine
    pub(crate) name: String,
    /// The directory of your build: its `include`, and its library there or in `lib`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) prefix: PathBuf,
    /// The file to write [default: libkvdyno-NAME.so here]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno new-engine mine                 writes kvdyno-mine/ here
  kvdyno new-engine mine --into ~/code   writes ~/code/kvdyno-mine/
  kvdyno new-engine mine --language c    a plugin in C: also c++, go, zig

Then, in that directory:
  make test                              the conformance kit; `cargo test` for Rust
  KVDYNO_ENGINE_PATH=$PWD kvdyno run quick --engine mine --no-ram-limit

The result is a complete engine: the calls that kvdyno makes, and an ordered map with a log in a
file, to replace by your own engine. The map is in memory, which needs --no-ram-limit. In Rust it is
a program that links the engine; in other languages a library with the functions of kvdyno_engine.h.
The directory can be anywhere. docs/add-an-engine.md has the next steps.")]
pub(crate) struct NewEngineArgs {
    /// The engine's name in suites: a-z, 0-9, - and _
    pub(crate) name: String,
    /// The directory in which the directory `kvdyno-NAME` is created
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
    /// The language of the engine
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub(crate) language: Language,
}

/// The language of a new engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    C,
    #[value(name = "c++")]
    Cpp,
    Go,
    #[default]
    Rust,
    Zig,
}
