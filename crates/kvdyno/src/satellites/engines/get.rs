//! `kvdyno engines get`: puts libraries of an engine into the library directory. Official ones are
//! fetched, others are built here or linked with the system's; servers are unpacked from packages.
//! A library is complete or absent, and it is, or is made from, published files.

use super::plugin::{self, PluginSource};
use super::releases::{self, Binaries, GoModule, Published, System};
use super::sources::EngineBuild;
use super::{debian, go, maven};
use crate::cli::GetArgs;
use crate::exit::Complaint;
use crate::printer::{Printer, Progress};
use crate::records::left_behind::remove_left_behind;
use crate::running::workers::{self, CodeSource};
use anyhow::Context as _;
use kvdyno_record::engine::library::{self, ABOUT, About, Build, Installed};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::sha256;
use kvdyno_record::library::is_version;
use kvdyno_record::units;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The prefix of unfinished directories.
const UNFINISHED: &str = ".fetch-";

pub(super) fn run(args: &GetArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let published = releases::find_published(&args.name)?;
    let versions = versions_to_get(args, &published)?;
    let progress = printer.progress(versions.len(), Duration::ZERO);
    for (index, version) in versions.iter().enumerate() {
        let name = format!("{} {version}", args.name);
        let name = name.trim_end();
        progress.case_started(index + 1, name);
        if let Some(library) = find_current(&args.name, version) {
            progress.case_finished(
                index + 1,
                name,
                "is already installed",
                &format_library(&library),
            );
            continue;
        }
        let report = |phase: &str, done, all| progress.phase(phase, done, all, None);
        let link_build =
            |built: &EngineBuild, dir: &Path| link_build(&args.name, version, built, dir, printer);
        let library = install_library(&args.name, |dir| match &published {
            Published::Maven(binaries) => fetch(&args.name, version, binaries, dir, &progress),
            Published::Sources(sources) => link_build(&sources.build(version, dir, report)?, dir),
            Published::Crate(sources) => link_build(&sources.build(version, dir, report)?, dir),
            Published::Go(module) => compile(&args.name, version, module, dir, &progress),
            Published::System(system) => link(&args.name, system, dir),
            Published::Debian(packages) => debian::unpack(&args.name, packages, dir),
        })?;
        let how = match (&published, library.build) {
            (Published::Debian(_), _) => "unpacked",
            (_, Build::Native) => "built",
            (_, Build::System) => "linked",
            (_, Build::Official | Build::Yours) => "fetched",
        };
        progress.case_finished(index + 1, name, how, &format_library(&library));
        if let Some(problem) = unusable(&args.name, &library.path) {
            printer.warning(&problem);
        }
    }
    Ok(Exit::Ok)
}

/// The installed library of this version, unless `engines get` made it with an older plugin.
pub(super) fn find_current(engine: &str, version: &str) -> Option<Installed> {
    library::find(engine, version).filter(|library| !is_outdated(engine, library))
}

/// Whether a library has an older plugin.
fn is_outdated(engine: &str, library: &Installed) -> bool {
    is_in_store(library) && has_old_plugin(engine, &library::load_about(&library.path))
}

/// The user renews libraries elsewhere.
fn is_in_store(library: &Installed) -> bool {
    library.path.starts_with(library::store())
}

fn has_old_plugin(engine: &str, about: &About) -> bool {
    matches!(about.build, Build::Native | Build::System)
        && own_code_checksum(engine).is_some_and(|sum| about.plugin != sum)
}

/// Whether the system has another package of this version now: a distribution mends bugs without a
/// new version.
fn is_renewed(library: &Installed, about: &About) -> bool {
    let (source, sum) = (&about.source, &about.sha256);
    about.build == Build::System && (library.source != *source || library.sha256 != *sum)
}

/// The checksum of kvdyno's own code in an engine's library.
fn own_code_checksum(engine: &str) -> Option<String> {
    plugin::find_source(engine).ok().map(PluginSource::checksum).or_else(|| go::checksum(engine))
}

/// The requested versions; for the system's package its only version, unnamed.
fn versions_to_get(args: &GetArgs, published: &Published) -> Result<Vec<String>, Complaint> {
    let name = &args.name;
    if published.is_of_the_system() {
        return match args.versions.first() {
            None => Ok(vec![String::new()]),
            Some(version) => {
                let what = format!(
                    "{name} is only available in the system's own version, not in {version}"
                );
                let hint = format!(
                    "use `kvdyno engines get {name}`, or `kvdyno engines build {name} --prefix \
                     DIR` for a local build"
                );
                Err(Complaint::usage(what).hint(hint))
            }
        };
    }
    if args.versions.is_empty() {
        return Ok(published.versions().into_iter().take(1).map(str::to_owned).collect());
    }
    if let Some(wrong) = args.versions.iter().find(|version| !is_version(version)) {
        let hint = "expected a version such as 9.10.0";
        return Err(Complaint::usage(format!("`{wrong}` cannot be a version")).hint(hint));
    }
    Ok(args.versions.clone())
}

/// `official, 14.3 MiB, /home/me/.cache/...`.
fn format_library(library: &Installed) -> String {
    let bytes = library.path.metadata().map_or(0, |meta| meta.len());
    let (build, path) = (library.build.as_str(), library.path.display());
    format!("{build}, {}, {path}", units::bytes(bytes))
}

/// The worker's error with this library, if there is a worker.
fn unusable(engine: &str, library: &Path) -> Option<String> {
    let worker = workers::find(engine).ok()?;
    let error = workers::describe(&worker.path, &CodeSource::Library(library.to_owned())).err()?;
    Some(format!("kvdyno-{engine} cannot use it: {error:#}"))
}

/// Calls `make` to create a library (or a directory with one), and moves it into the library
/// directory.
fn install_library(
    engine: &str,
    make: impl FnOnce(&Path) -> anyhow::Result<(PathBuf, About)>,
) -> anyhow::Result<Installed> {
    let store = library::store();
    std::fs::create_dir_all(store.join(engine)).map_err(|error| cannot_write(&store, &error))?;
    remove_left_behind(&store, UNFINISHED);
    // The directories are next to the target, so that each is moved in one step.
    let unfinished = || tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&store);
    let [work, dir, old] = [unfinished(), unfinished(), unfinished()]
        .map(|dir| dir.map_err(|error| cannot_write(&store, &error)));
    let (work, dir, old) = (work?, dir?, old?);
    let (file, about) = make(work.path())?;
    let text = serde_json::to_vec_pretty(&about)?;
    // A server's packages are a directory, which replaces the empty one.
    let target = if file.is_dir() {
        dir.path().to_owned()
    } else {
        dir.path().join(file.file_name().unwrap_or_default())
    };
    let installed = store.join(engine).join(&about.version);
    let outdated = library::find(engine, &about.version).is_some_and(|library| {
        is_outdated(engine, &library) || (is_in_store(&library) && is_renewed(&library, &about))
    });
    let ended = std::fs::rename(&file, target)
        .and_then(|()| std::fs::write(dir.path().join(ABOUT), text))
        .and_then(|()| replace_dir(dir.path(), &installed, outdated.then_some(old.path())));
    ended.map_err(|error| cannot_write(&store, &error))?;
    let installed = library::find(engine, &about.version);
    installed.with_context(|| {
        let (version, store) = (&about.version, store.display());
        format!("{engine} {version} was put into {store}, but is not found there")
    })
}

/// Fetches a library as its authors built it.
fn fetch(
    engine: &str,
    version: &str,
    published: &Binaries,
    dir: &Path,
    progress: &Progress<'_>,
) -> anyhow::Result<(PathBuf, About)> {
    let file = published.file()?;
    let source = published.coordinates(version);
    let jar = maven::copy(&source, dir, |done, all| {
        progress.phase("fetching", done, Some(all), None);
    })?;
    let library = unpack(&jar, file, dir)?;
    let sum = sha256(&library)?;
    if let Some(expected) = published.sha256(version).filter(|expected| *expected != sum) {
        let what = format!(
            "{source} differs from the published one: expected SHA-256 {expected} for {file}, \
             found {sum}"
        );
        return Err(Complaint::usage(what).hint("nothing was installed").into());
    }
    Ok((library, describe_library(engine, version, Build::Official, sum, source)))
}

/// Links an engine's build with kvdyno's plugin for it.
fn link_build(
    engine: &str,
    version: &str,
    built: &EngineBuild,
    dir: &Path,
    printer: &Printer,
) -> anyhow::Result<(PathBuf, About)> {
    for library in &built.without {
        printer.warning(&format!(
            "{engine} {version} is built without {library}: cannot find lib{library} to compile \
             against"
        ));
    }
    let library = dir.join(plugin::file_name(engine));
    let linked = plugin::find_source(engine)?.link(&built.prefix, &library)?;
    let source = format!("{}, {}", built.source, linked.compiler);
    let sum = sha256(&library)?;
    Ok((library, describe_library(engine, version, Build::Native, sum, source)))
}

/// Compiles a plugin with this version of the engine's module.
fn compile(
    engine: &str,
    version: &str,
    module: &GoModule,
    dir: &Path,
    progress: &Progress<'_>,
) -> anyhow::Result<(PathBuf, About)> {
    let built = module.build(engine, version, dir, |phase, done, all| {
        progress.phase(phase, done, all, None);
    })?;
    let sum = sha256(&built.path)?;
    Ok((built.path, describe_library(engine, version, Build::Native, sum, built.source)))
}

/// Links the system's library with a plugin.
fn link(engine: &str, system: &System, dir: &Path) -> anyhow::Result<(PathBuf, About)> {
    let library = dir.join(plugin::file_name(engine));
    let linked = plugin::find_source(engine)?.link(Path::new("/usr"), &library)?;
    let sum = sha256(&library)?;
    let package = system.installed_package();
    Ok((library, describe_library(engine, &linked.version, Build::System, sum, package)))
}

fn describe_library(
    engine: &str,
    version: &str,
    build: Build,
    sha256: String,
    source: String,
) -> About {
    let (engine, version) = (engine.to_owned(), version.to_owned());
    let plugin = own_code_checksum(&engine).unwrap_or_default();
    About { engine, version, build, sha256, source, file: String::new(), plugin }
}

/// Extracts the library from the archive.
fn unpack(jar: &Path, file: &str, dir: &Path) -> anyhow::Result<PathBuf> {
    let damaged = || format!("failed to read {}", jar.display());
    let mut archive = zip::ZipArchive::new(File::open(jar)?).with_context(damaged)?;
    let mut member = archive.by_name(file).map_err(|error| match error {
        zip::result::ZipError::FileNotFound => {
            let what = format!("this release does not contain {file}");
            let hint = "for a local build use `library = PATH` in a suite";
            Complaint::usage(what).hint(hint).into()
        }
        error => anyhow::Error::new(error).context(damaged()),
    })?;
    let path = dir.join(file);
    let written = File::create_new(&path).and_then(|mut out| {
        io::copy(&mut member, &mut out)?;
        out.sync_all()
    });
    written.map_err(|error| cannot_write(dir, &error))?;
    Ok(path)
}

/// Moves a finished directory to its target, and what is outdated there to `old`. A directory that
/// appeared there meanwhile is equivalent.
fn replace_dir(dir: &Path, target: &Path, old: Option<&Path>) -> io::Result<()> {
    if let Some(old) = old {
        std::fs::rename(target, old)?;
    }
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))?;
    match std::fs::rename(dir, target) {
        Err(error) if is_not_empty(&error) => Ok(()),
        moved => moved,
    }
}

/// Whether rename(2) found a directory with files: ENOTEMPTY or, on XFS, EEXIST.
fn is_not_empty(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

fn cannot_write(dir: &Path, error: &io::Error) -> Complaint {
    let what = format!("failed to store a library in {}: {error}", dir.display());
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full: a library needs up to 20 MB, its build up to 200 MB"
        }
        _ => "XDG_CACHE_HOME sets another directory",
    };
    Complaint::usage(what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn archive(dir: &Path, name: &str) -> PathBuf {
        let path = dir.join("a.jar");
        let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"code").unwrap();
        writer.finish().unwrap();
        path
    }

    #[test]
    fn of_the_systems_package_there_is_one_version() {
        let versions_of = |name: &str, versions: &[&str]| {
            let versions = versions.iter().map(ToString::to_string).collect();
            let args = GetArgs { name: name.to_owned(), versions };
            versions_to_get(&args, &releases::find_published(name).unwrap())
        };
        assert_eq!(versions_of("leveldb", &[]).unwrap(), [""]);
        let refused = versions_of("leveldb", &["1.22"]).unwrap_err();
        assert!(refused.message.contains("1.22"), "{refused:?}");
        assert_eq!(versions_of("wiredtiger", &[]).unwrap(), ["11.3.1"]);
        assert_eq!(versions_of("wiredtiger", &["11.2.0", "11.3.1"]).unwrap().len(), 2);
        assert!(versions_of("rocksdb", &["../9.10.0"]).is_err());
    }

    #[test]
    fn a_library_with_an_older_plugin_is_not_current() {
        let about = |engine: &str, build| {
            describe_library(engine, "1.0", build, String::new(), String::new())
        };
        for (engine, build) in [("leveldb", Build::System), ("wiredtiger", Build::Native)] {
            let current = about(engine, build);
            assert!(!has_old_plugin(engine, &current));
            let before = About { plugin: String::new(), ..current.clone() };
            assert!(has_old_plugin(engine, &before));
            assert!(has_old_plugin(engine, &About { plugin: "0".repeat(64), ..current.clone() }));
            assert!(!has_old_plugin(engine, &About { build: Build::Yours, ..before }));
        }
        assert!(!has_old_plugin("rocksdb", &about("rocksdb", Build::Native)));
    }

    #[test]
    fn another_package_of_a_version_replaces_the_old_one() {
        let about = About {
            build: Build::System,
            sha256: "aa".to_owned(),
            source: "redis-server_7.0.15-1_amd64".to_owned(),
            ..About::default()
        };
        let installed = |source: &str, sha256: &str| Installed {
            version: "7.0.15".to_owned(),
            path: PathBuf::new(),
            build: Build::System,
            sha256: sha256.to_owned(),
            source: source.to_owned(),
        };
        assert!(!is_renewed(&installed(&about.source, "aa"), &about));
        assert!(is_renewed(&installed("redis-server_7.0.15-1+deb12u1_amd64", "aa"), &about));
        assert!(is_renewed(&installed(&about.source, "bb"), &about));
        let fetched = About { build: Build::Official, ..about };
        assert!(!is_renewed(&installed("", ""), &fetched), "a release stays what it was");
    }

    #[test]
    fn a_directory_with_files_is_known_by_the_errors_of_all_filesystems() {
        for errno in [rustix::io::Errno::NOTEMPTY, rustix::io::Errno::EXIST] {
            assert!(is_not_empty(&errno.into()), "{errno}");
        }
        assert!(!is_not_empty(&rustix::io::Errno::NOSPC.into()));
    }

    #[test]
    fn only_the_library_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let jar = archive(dir.path(), "librocksdbjni-linux64.so");
        let path = unpack(&jar, "librocksdbjni-linux64.so", dir.path()).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"code");
        let error = unpack(&jar, "librocksdbjni-linux-mips.so", dir.path()).unwrap_err();
        assert!(error.to_string().contains("librocksdbjni-linux-mips.so"), "{error:#}");
        std::fs::write(&jar, "no archive").unwrap();
        assert!(unpack(&jar, "x", dir.path()).is_err());
    }

    #[test]
    fn a_directory_is_there_whole_or_not_at_all() {
        let store = tempfile::tempdir().unwrap();
        let make_dir = |name: &str| {
            let dir = store.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join("lib.so"), name).unwrap();
            dir
        };
        let target = store.path().join("9.10.0");
        replace_dir(&make_dir(".fetch-1"), &target, None).unwrap();
        // The first directory stays.
        replace_dir(&make_dir(".fetch-2"), &target, None).unwrap();
        assert_eq!(std::fs::read(target.join("lib.so")).unwrap(), b".fetch-1");
        // An outdated one is replaced.
        let old = tempfile::tempdir().unwrap();
        replace_dir(&make_dir(".fetch-3"), &target, Some(old.path())).unwrap();
        assert_eq!(std::fs::read(target.join("lib.so")).unwrap(), b".fetch-3");
        assert_eq!(std::fs::read(old.path().join("lib.so")).unwrap(), b".fetch-1");
        // A fetch in progress stays.
        remove_left_behind(store.path(), UNFINISHED);
        assert!(store.path().join(".fetch-2").exists());
    }
}
