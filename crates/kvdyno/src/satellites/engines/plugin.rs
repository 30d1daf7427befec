//! Engines in C and C++ that are plugins of kvdyno's: one is compiled against the header of a
//! build, and linked with it into the file that `kvdyno-plugin` loads.

use super::tool;
use crate::exit::Complaint;
use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

type SourceFile = (&'static str, &'static str);

/// An engine's plugin, and its compiler and linker settings.
pub(super) struct PluginSource {
    /// The names and texts of its files; the first, which includes the others, is compiled.
    files: &'static [SourceFile],
    compiler: &'static str,
    standard: &'static str,
    /// The engine's header, below an `include` directory.
    header: &'static str,
    /// The words before the parts of the version in the header.
    version: &'static [&'static str],
    /// The engine's library, as in `-l`.
    library: &'static str,
    /// Libraries that a static library may need; only existing and used ones are linked.
    with: &'static [&'static str],
    /// The Debian packages for compiling the plugin.
    packages: &'static str,
}

/// Files of one directory below that of plugins.
macro_rules! source_files {
    ($dir:literal: $($name:literal)*) => {
        [$((
            $name,
            include_str!(concat!("../../../../../engines/plugin/", $dir, "/", $name)),
        )),*]
    };
}

/// The header that every plugin includes.
const PLUGIN_HEADER: [SourceFile; 1] = source_files!("include": "kvdyno_engine.h");

static PLUGINS: [(&str, PluginSource); 3] = [
    (
        "wiredtiger",
        PluginSource {
            files: &source_files!("wiredtiger": "wiredtiger.cc" "describe.h"),
            compiler: "c++",
            standard: "-std=c++17",
            header: "wiredtiger.h",
            version: &[
                "define WIREDTIGER_VERSION_MAJOR",
                "define WIREDTIGER_VERSION_MINOR",
                "define WIREDTIGER_VERSION_PATCH",
            ],
            library: "wiredtiger",
            with: &["lz4", "snappy", "zstd", "z", "pthread", "dl", "rt"],
            packages: "g++",
        },
    ),
    (
        "tidesdb",
        PluginSource {
            files: &source_files!("tidesdb": "tidesdb.c"),
            compiler: "cc",
            standard: "-std=gnu11",
            header: "tidesdb/tidesdb_version.h",
            version: &["define TIDESDB_VERSION \""],
            library: "tidesdb",
            with: &["lz4", "snappy", "zstd", "m", "pthread"],
            packages: "gcc",
        },
    ),
    (
        "leveldb",
        PluginSource {
            files: &source_files!("leveldb": "leveldb.cc"),
            compiler: "c++",
            standard: "-std=c++17",
            header: "leveldb/db.h",
            version: &["kMajorVersion =", "kMinorVersion ="],
            library: "leveldb",
            with: &["snappy", "zstd", "crc32c", "tcmalloc", "pthread"],
            packages: "g++ libleveldb-dev libsnappy-dev",
        },
    ),
];

/// The plugin of `engine`.
pub(super) fn find_source(engine: &str) -> Result<&'static PluginSource, Complaint> {
    let plugin = PLUGINS.iter().find(|(name, _)| *name == engine);
    plugin.map(|(_, plugin)| plugin).ok_or_else(|| {
        let names: Vec<&str> = PLUGINS.iter().map(|(name, _)| *name).collect();
        let what = format!("kvdyno has no plugin of `{engine}` in C or C++");
        let hint = format!(
            "it has those of {}; for other engines use `library = PATH` with a local build",
            names.join(", ")
        );
        Complaint::usage(what).hint(hint)
    })
}

/// The file name of an engine's plugin.
pub(super) fn file_name(engine: &str) -> String {
    format!("libkvdyno-{engine}.so")
}

/// The result of linking.
pub(super) struct LinkedPlugin {
    pub(super) version: String,
    /// The compiler with its version.
    pub(super) compiler: String,
}

impl PluginSource {
    /// Compiles the plugin, and links it with the engine's build in `prefix`, which was installed
    /// there (`include`, `lib`) or built there, into `library`.
    pub(super) fn link(&self, prefix: &Path, library: &Path) -> anyhow::Result<LinkedPlugin> {
        let remedy = format!("on Debian: `apt-get install {}`", self.packages);
        let prefix = prefix.canonicalize().with_context(|| format!("{}", prefix.display()))?;
        let include = prefix.join("include");
        let header = std::fs::read_to_string(include.join(self.header)).map_err(|error| {
            let what =
                format!("failed to read include/{} in {}: {error}", self.header, prefix.display());
            Complaint::usage(what)
                .hint(format!("expected a build with `include` and `lib`; {remedy}"))
        })?;
        let version = parse_version(&header, self.version).with_context(|| {
            format!("cannot find a version in {}", include.join(self.header).display())
        })?;
        let archives = self.libraries(&prefix);
        if archives.is_empty() {
            let what = format!("cannot find lib{}.a or .so in {}", self.library, prefix.display());
            return Err(Complaint::usage(what).hint(remedy).into());
        }
        let dir = tempfile::tempdir()?;
        for (name, text) in self.files.iter().chain(&PLUGIN_HEADER) {
            std::fs::write(dir.path().join(name), text)?;
        }
        let source = dir.path().join(self.files[0].0);
        let mut linked = Ok(());
        for archive in &archives {
            let mut command = Command::new(self.compiler);
            command.args(self.arguments(&source, &include, archive, library));
            linked = tool::run(command, &remedy, |_| {});
            if linked.is_ok() {
                break;
            }
        }
        linked?;
        Ok(LinkedPlugin { version, compiler: self.compiler() })
    }

    /// The checksum of the plugin's sources.
    pub(super) fn checksum(&self) -> String {
        let mut sum = Sha256::new();
        self.files.iter().chain(&PLUGIN_HEADER).for_each(|(_, text)| sum.update(text));
        sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn arguments(
        &self,
        source: &Path,
        include: &Path,
        archive: &Path,
        library: &Path,
    ) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            [self.standard, "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-o"]
                .map(OsString::from)
                .to_vec();
        arguments.extend([library.into(), "-I".into(), include.into(), source.into()]);
        arguments.push(archive.into());
        // Internal calls are bound within the file. Linking fails if a symbol is missing.
        let linker = ["-Wl,-Bsymbolic", "-Wl,--exclude-libs,ALL", "-Wl,-z,defs", "-Wl,--as-needed"];
        arguments.extend(linker.map(OsString::from));
        if archive.extension().is_some_and(|extension| extension == "so") {
            let mut rpath = OsString::from("-Wl,-rpath,");
            rpath.push(archive.parent().unwrap_or(archive));
            arguments.push(rpath);
        }
        let optional = self.with.iter().filter(|name| has_library(self.compiler, name));
        arguments.extend(optional.map(|name| OsString::from(format!("-l{name}"))));
        arguments
    }

    /// The engine's libraries in a directory, the static one first: it makes one complete file.
    fn libraries(&self, prefix: &Path) -> Vec<PathBuf> {
        let multiarch = output(self.compiler, "-print-multiarch");
        let dirs = [format!("lib/{multiarch}"), "lib64".to_owned(), "lib".to_owned()];
        let dirs = dirs.iter().map(|dir| prefix.join(dir)).chain([prefix.to_owned()]);
        let dirs: Vec<PathBuf> = dirs.collect();
        let find_file = |extension: &str| {
            let name = format!("lib{}.{extension}", self.library);
            dirs.iter().map(move |dir| dir.join(&name)).find(|path| path.is_file())
        };
        [find_file("a"), find_file("so")].into_iter().flatten().collect()
    }

    /// `cc (Debian 12.2.0-14) 12.2.0`.
    fn compiler(&self) -> String {
        output(self.compiler, "--version").lines().next().unwrap_or(self.compiler).to_owned()
    }
}

/// Whether code can be linked with a library of this name here.
pub(super) fn has_library(compiler: &str, name: &str) -> bool {
    let path = output(compiler, &format!("-print-file-name=lib{name}.so"));
    let archive = output(compiler, &format!("-print-file-name=lib{name}.a"));
    // For a missing file, the compiler prints only the name.
    path.contains('/') || archive.contains('/')
}

/// A compiler's output; nothing without a compiler.
fn output(compiler: &str, question: &str) -> String {
    let output = Command::new(compiler).arg(question).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// `11.3.1`: the numbers after each of these words, or after the only one.
fn parse_version(header: &str, words: &[&str]) -> Option<String> {
    let number = |words: &&str| {
        let rest = header.split_once(words)?.1.trim_start();
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        Some(&rest[..end]).filter(|number| !number.is_empty())
    };
    let parts: Option<Vec<&str>> = words.iter().map(number).collect();
    parts.map(|parts| parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_its_version() {
        let header = "#define WIREDTIGER_VERSION_MAJOR\t11\n#define WIREDTIGER_VERSION_MINOR 3\n\
                      #define WIREDTIGER_VERSION_PATCH 1\n";
        let wiredtiger = find_source("wiredtiger").unwrap();
        assert_eq!(parse_version(header, wiredtiger.version).as_deref(), Some("11.3.1"));
        let header = "static const int kMajorVersion = 1;\nstatic const int kMinorVersion = 23;\n";
        let leveldb = find_source("leveldb").unwrap();
        assert_eq!(parse_version(header, leveldb.version).as_deref(), Some("1.23"));
        let header = "#define TIDESDB_VERSION \"10.2.1\"\n";
        let tidesdb = find_source("tidesdb").unwrap();
        assert_eq!(parse_version(header, tidesdb.version).as_deref(), Some("10.2.1"));
        assert_eq!(parse_version("kMajorVersion = x;", leveldb.version), None);
        assert!(find_source("rocksdb").is_err());
    }

    #[test]
    fn a_directory_without_a_build_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out.so");
        let refused = |plugin: &PluginSource| match plugin.link(dir.path(), &out) {
            Ok(_) => panic!("linked with nothing"),
            Err(error) => format!("{error:#}"),
        };
        let wiredtiger = find_source("wiredtiger").unwrap();
        assert!(refused(wiredtiger).contains("include/wiredtiger.h"));
        std::fs::create_dir(dir.path().join("include")).unwrap();
        let header = dir.path().join("include/wiredtiger.h");
        std::fs::write(&header, "").unwrap();
        assert!(refused(wiredtiger).contains("version"));
        let words: Vec<String> =
            (wiredtiger.version.iter()).map(|word| format!("#{word} 1\n")).collect();
        std::fs::write(&header, words.concat()).unwrap();
        assert!(refused(wiredtiger).contains("libwiredtiger.a"));
        assert!(!out.exists());
    }
}
