//! `kvdyno engines get`: libraries of an engine into the folder where they are kept: official ones
//! fetched, others built here or linked with the system's, servers unpacked from its packages. A
//! library is there whole or not at all, and it is, or is made of, what was published.

use super::releases::{self, Binaries, Published, Sources, System};
use super::{debian, maven, shim};
use crate::cli::GetArgs;
use crate::exit::Complaint;
use crate::printer::{Printer, Progress};
use crate::workers::{self, CodeSource};
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

/// What begins the names of folders that are being filled.
const UNFINISHED: &str = ".fetch-";

/// One that is older was left by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn run(args: &GetArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let published = releases::fetch_published(&args.name)?;
    let versions = wanted(args, &published)?;
    let progress = printer.progress(versions.len(), Duration::ZERO);
    for (at, version) in versions.iter().enumerate() {
        let name = format!("{} {version}", args.name);
        let name = name.trim_end();
        progress.case_started(at + 1, name);
        if let Some(there) = library::find(&args.name, version) {
            progress.case_finished(name, "is there already", &words(&there));
            continue;
        }
        let there = keep(&args.name, |folder| match &published {
            Published::Maven(binaries) => fetch(&args.name, version, binaries, folder, &progress),
            Published::Sources(sources) => {
                build(&args.name, version, sources, folder, (&progress, printer))
            }
            Published::System(system) => link(&args.name, system, folder),
            Published::Debian(packages) => debian::unpack(&args.name, packages, folder),
        })?;
        let how = match (&published, there.build) {
            (Published::Debian(_), _) => "unpacked",
            (_, Build::Native) => "built",
            (_, Build::System) => "linked",
            (_, Build::Official | Build::Yours) => "fetched",
        };
        progress.case_finished(name, how, &words(&there));
        if let Some(problem) = unusable(&args.name, &there.path) {
            printer.warning(&problem);
        }
    }
    Ok(Exit::Ok)
}

/// The versions that are asked for; of the system's package the one that there is, unnamed.
fn wanted(args: &GetArgs, published: &Published) -> Result<Vec<String>, Complaint> {
    let name = &args.name;
    if published.is_of_the_system() {
        return match args.versions.first() {
            None => Ok(vec![String::new()]),
            Some(version) => {
                let what = format!("{name} is had in the system's own version, not in {version}");
                let hint = format!(
                    "`kvdyno engines get {name}`, or `kvdyno engines build {name} --prefix DIR` of \
                     a build of yours"
                );
                Err(Complaint::usage(what).hint(hint))
            }
        };
    }
    if args.versions.is_empty() {
        return Ok(published.versions().into_iter().take(1).map(str::to_owned).collect());
    }
    if let Some(wrong) = args.versions.iter().find(|version| !is_version(version)) {
        let hint = "a version is a number such as 9.10.0";
        return Err(Complaint::usage(format!("`{wrong}` cannot be a version")).hint(hint));
    }
    Ok(args.versions.clone())
}

/// `official, 14.3 MiB, /home/me/.cache/...`.
fn words(library: &Installed) -> String {
    let bytes = library.path.metadata().map_or(0, |meta| meta.len());
    let (build, path) = (library.build.as_str(), library.path.display());
    format!("{build}, {}, {path}", units::bytes(bytes))
}

/// Why the worker would not load it, where there is a worker.
fn unusable(engine: &str, library: &Path) -> Option<String> {
    let worker = workers::find(engine).ok()?;
    let error = workers::describe(&worker, &CodeSource::Library(library.to_owned())).err()?;
    Some(format!("kvdyno-{engine} cannot use it: {error:#}"))
}

/// Has `make` leave a library, or a folder with one, in a folder and say what it is, and puts that
/// among the libraries.
fn keep(
    engine: &str,
    make: impl FnOnce(&Path) -> anyhow::Result<(PathBuf, About)>,
) -> anyhow::Result<Installed> {
    let store = library::store();
    std::fs::create_dir_all(store.join(engine)).map_err(|error| cannot_write(&store, &error))?;
    sweep(&store);
    // Beside its place, so that it can be moved there at once.
    let unfinished = || tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&store);
    let [work, folder] = [unfinished(), unfinished()]
        .map(|folder| folder.map_err(|error| cannot_write(&store, &error)));
    let (work, folder) = (work?, folder?);
    let (file, about) = make(work.path())?;
    let text = serde_json::to_vec_pretty(&about)?;
    // A server's packages are a folder, which takes the place of the empty one.
    let place = if file.is_dir() {
        folder.path().to_owned()
    } else {
        folder.path().join(file.file_name().unwrap_or_default())
    };
    let ended = std::fs::rename(&file, place)
        .and_then(|()| std::fs::write(folder.path().join(ABOUT), text))
        .and_then(|()| settle(folder.path(), &store.join(engine).join(&about.version)));
    ended.map_err(|error| cannot_write(&store, &error))?;
    let there = library::find(engine, &about.version);
    there.with_context(|| {
        let (version, store) = (&about.version, store.display());
        format!("{engine} {version} was put into {store} and is not found there")
    })
}

/// As its authors built it.
fn fetch(
    engine: &str,
    version: &str,
    published: &Binaries,
    folder: &Path,
    progress: &Progress<'_>,
) -> anyhow::Result<(PathBuf, About)> {
    let file = published.file()?;
    let source = published.coordinates(version);
    let jar = maven::copy(&source, folder, |done, all| {
        progress.phase("fetching", done, Some(all), None);
    })?;
    let library = unpack(&jar, file, folder)?;
    let found = sha256(&library)?;
    if let Some(expected) = published.sha256(version).filter(|expected| *expected != found) {
        let what = format!(
            "{source} is not what was published: the SHA-256 of {file} in it is {found}, and must \
             be {expected}"
        );
        return Err(Complaint::usage(what).hint("nothing was installed").into());
    }
    Ok((library, about(engine, version, Build::Official, found, source)))
}

/// From its sources, for this machine's processor.
fn build(
    engine: &str,
    version: &str,
    sources: &Sources,
    folder: &Path,
    (progress, printer): (&Progress<'_>, &Printer),
) -> anyhow::Result<(PathBuf, About)> {
    let built = sources
        .build(version, folder, |phase, done, all| progress.phase(phase, done, all, None))?;
    for library in &built.without {
        printer.warning(&format!(
            "{engine} {version} is built without {library}: there is no lib{library} to compile \
             against"
        ));
    }
    let library = folder.join(format!("lib{engine}.so"));
    let linked = shim::find_shim(engine)?.link(&built.prefix, &library)?;
    let source = format!("{}, {}", built.source, linked.compiler);
    let sum = sha256(&library)?;
    Ok((library, about(engine, version, Build::Native, sum, source)))
}

/// The system's, with the shim around it.
fn link(engine: &str, system: &System, folder: &Path) -> anyhow::Result<(PathBuf, About)> {
    let library = folder.join(format!("lib{engine}.so"));
    let linked = shim::find_shim(engine)?.link(Path::new("/usr"), &library)?;
    let sum = sha256(&library)?;
    let package = system.installed();
    Ok((library, about(engine, &linked.version, Build::System, sum, package)))
}

fn about(engine: &str, version: &str, build: Build, sha256: String, source: String) -> About {
    let (engine, version) = (engine.to_owned(), version.to_owned());
    About { engine, version, build, sha256, source, file: String::new() }
}

/// Takes the library out of the archive.
fn unpack(jar: &Path, file: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let damaged = || format!("failed to read {}", jar.display());
    let mut archive = zip::ZipArchive::new(File::open(jar)?).with_context(damaged)?;
    let mut member = archive.by_name(file).map_err(|error| match error {
        zip::result::ZipError::FileNotFound => {
            let what = format!("this release holds no {file}");
            let hint = "a build of your own is named by `library = PATH` in a suite";
            Complaint::usage(what).hint(hint).into()
        }
        error => anyhow::Error::new(error).context(damaged()),
    })?;
    let path = folder.join(file);
    let written = File::create_new(&path).and_then(|mut out| {
        io::copy(&mut member, &mut out)?;
        out.sync_all()
    });
    written.map_err(|error| cannot_write(folder, &error))?;
    Ok(path)
}

/// Puts a finished folder in its place. One that came there meanwhile is as good.
fn settle(folder: &Path, place: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    match std::fs::rename(folder, place) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        moved => moved,
    }
}

/// Removes what killed fetches left behind.
fn sweep(store: &Path) {
    let Ok(entries) = store.read_dir() else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let age = entry.metadata().and_then(|meta| meta.modified()).ok();
        let age = age.and_then(|changed| changed.elapsed().ok());
        if ours && age.is_some_and(|age| age > LEFT_BEHIND) {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn cannot_write(folder: &Path, error: &io::Error) -> Complaint {
    let what = format!("failed to keep a library in {}: {error}", folder.display());
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full: a library takes up to 20 MB, what it is made of up to 200 MB"
        }
        _ => "XDG_CACHE_HOME names another folder",
    };
    Complaint::usage(what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn archive(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join("a.jar");
        let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"code").unwrap();
        writer.finish().unwrap();
        path
    }

    #[test]
    fn of_the_systems_package_there_is_one_version() {
        let of = |name: &str, versions: &[&str]| {
            let versions = versions.iter().map(ToString::to_string).collect();
            let args = GetArgs { name: name.to_owned(), versions };
            wanted(&args, &releases::fetch_published(name).unwrap())
        };
        assert_eq!(of("leveldb", &[]).unwrap(), [""]);
        let refused = of("leveldb", &["1.22"]).unwrap_err();
        assert!(refused.message.contains("not in 1.22"), "{refused:?}");
        assert_eq!(of("wiredtiger", &[]).unwrap(), ["11.3.1"]);
        assert_eq!(of("wiredtiger", &["11.2.0", "11.3.1"]).unwrap().len(), 2);
        assert!(of("rocksdb", &["../9.10.0"]).is_err());
    }

    #[test]
    fn only_the_library_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let jar = archive(folder.path(), "librocksdbjni-linux64.so");
        let path = unpack(&jar, "librocksdbjni-linux64.so", folder.path()).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"code");
        let error = unpack(&jar, "librocksdbjni-linux-mips.so", folder.path()).unwrap_err();
        assert!(error.to_string().contains("holds no librocksdbjni-linux-mips.so"), "{error:#}");
        std::fs::write(&jar, "no archive").unwrap();
        assert!(unpack(&jar, "x", folder.path()).is_err());
    }

    #[test]
    fn a_folder_is_there_whole_or_not_at_all() {
        let store = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let folder = store.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("lib.so"), name).unwrap();
            folder
        };
        let place = store.path().join("9.10.0");
        settle(&made(".fetch-1"), &place).unwrap();
        // Who comes second leaves the first one's.
        settle(&made(".fetch-2"), &place).unwrap();
        assert_eq!(std::fs::read(place.join("lib.so")).unwrap(), b".fetch-1");
        // What is being fetched now stays.
        sweep(store.path());
        assert!(store.path().join(".fetch-2").exists());
    }
}
