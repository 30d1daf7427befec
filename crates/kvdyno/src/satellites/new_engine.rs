//! `kvdyno new-engine`: creates an engine outside of this repository, as a crate that passes the
//! conformance kit.
//!
//! The templates are the files in this module's directory, with placeholders for the name and for
//! the path of the contract's crates.

use crate::cli::NewEngineArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::workers;
use anyhow::Context as _;
use kvdyno_record::exit::Exit;
use kvdyno_render::command::command_line;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// kvdyno's own engines: found next to it, before any others of the same name.
const SHIPPED: [&str; 20] = [
    "aerospike",
    "direct",
    "drive",
    "fio",
    "fjall",
    "leveldb",
    "lmdb",
    "lmdb1",
    "mariadb",
    "mdbx",
    "memcached",
    "mongodb",
    "null",
    "postgres",
    "redb",
    "redis",
    "rocksdb",
    "sqlite",
    "surrealkv",
    "wiredtiger",
];

/// Each file with a description of its contents.
const FILES: [(&str, &str, &str); 4] = [
    ("Cargo.toml", include_str!("new_engine/Cargo.toml.txt"), "the manifest"),
    (
        "src/main.rs",
        include_str!("new_engine/main.rs.txt"),
        "the two traits, with the kit as their test",
    ),
    ("src/store.rs", include_str!("new_engine/store.rs.txt"), "a map, to replace by your engine"),
    ("README.md", include_str!("new_engine/README.md.txt"), "its commands"),
];

pub(crate) fn run(args: &NewEngineArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let name = args.name.as_str();
    refuse(name)?;
    let folder = make_folder(&args.into, name)?;
    let checkout = checkout();
    write(&folder, name, checkout.as_deref()).inspect_err(|_| {
        // It was created a moment ago, so the write error is the cause.
        let _ = fs::remove_dir_all(&folder);
    })?;
    printer.data(&format!("wrote {}:", folder.display()));
    for (file, _, what) in FILES {
        printer.data(&format!("  {file:<14}{what}"));
    }
    if checkout.is_none() {
        printer.warning(&format!(
            "the checkout of this kvdyno is gone: Cargo.toml uses version {} of the crates \
             kvdyno-engine and kvdyno-worker",
            env!("CARGO_PKG_VERSION")
        ));
    }
    printer.data(&format!("\nNext steps:\n{}", next(&folder, name)));
    Ok(Exit::Ok)
}

fn refuse(name: &str) -> Result<(), Complaint> {
    workers::check_name(name)?;
    if SHIPPED.contains(&name) {
        let message = format!("`{name}` is one of kvdyno's own engines");
        return Err(Complaint::usage(message).hint(format!(
            "use another name, such as {name}-mine: then both can be in one report"
        )));
    }
    Ok(())
}

/// Creates the crate's directory and returns its absolute path; fails if it exists.
fn make_folder(into: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let parent = match into.canonicalize() {
        Ok(parent) if parent.is_dir() => parent,
        Ok(_) => return Err(no_folder(format!("{} is not a directory", into.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(no_folder(format!("the directory {} does not exist", into.display())));
        }
        Err(error) => return Err(error).context(format!("failed to find {}", into.display())),
    };
    let folder = parent.join(format!("kvdyno-{name}"));
    match fs::create_dir(&folder) {
        Ok(()) => Ok(folder),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} already exists", folder.display());
            let hint = "use another name, or another directory with --into; nothing was changed";
            Err(Complaint::usage(message).hint(hint).into())
        }
        Err(error) => Err(error).context(format!("failed to create {}", folder.display())),
    }
}

fn no_folder(message: String) -> anyhow::Error {
    Complaint::usage(message).hint("--into needs an existing directory").into()
}

/// `crates/` of the checkout that built this program, if it still exists.
fn checkout() -> Option<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let has_crate = |name: &str| crates.join(name).join("Cargo.toml").is_file();
    (has_crate("engine") && has_crate("worker")).then(|| crates.to_owned())
}

fn write(folder: &Path, name: &str, checkout: Option<&Path>) -> anyhow::Result<()> {
    for (file, template, _) in FILES {
        let path = folder.join(file);
        let failed = || format!("failed to write {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(failed)?;
        fs::write(&path, filled(template, name, checkout)).with_context(failed)?;
    }
    Ok(())
}

fn filled(template: &str, name: &str, checkout: Option<&Path>) -> String {
    let whence = match checkout {
        Some(_) => "Paths into the checkout of this kvdyno: both must have the same protocol.",
        None => "The version of this kvdyno: both must have the same protocol.",
    };
    let way = |name: &str| match checkout {
        Some(crates) => format!("path = {}", toml_text(&crates.join(name))),
        None => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
    };
    template
        .replace("@NAME@", name)
        .replace("@WHENCE@", whence)
        .replace("@ENGINE@", &way("engine"))
        .replace("@WORKER@", &way("worker"))
}

fn toml_text(path: &Path) -> String {
    toml::Value::String(path.to_string_lossy().into_owned()).to_string()
}

/// The next commands, as shell input.
fn next(folder: &Path, name: &str) -> String {
    let enter = command_line(&["cd".to_owned(), folder.to_string_lossy().into_owned()]);
    format!(
        "  {enter}
  cargo test
  cargo build --release
  KVDYNO_ENGINE_PATH=$PWD/target/release kvdyno run quick --engine {name} --no-ram-limit
The whole map is in memory: omit --no-ram-limit for an engine that is not."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of `engines/` are kvdyno's own engines.
    #[test]
    fn the_engines_of_this_repository_are_known() {
        let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engines");
        let names = fs::read_dir(engines).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, SHIPPED);
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for checkout in [None, Some(Path::new("/a \"quoted\" path/crates"))] {
            for (file, template, _) in FILES {
                let text = filled(template, "mine", checkout);
                assert!(!text.contains('@'), "{file}: {text}");
            }
            let text = filled(FILES[0].1, "mine", checkout);
            let manifest: toml::Table = text.parse().unwrap();
            let worker = manifest["dependencies"]["kvdyno-worker"].as_table().unwrap();
            match checkout {
                Some(crates) => {
                    let worker = worker["path"].as_str().map(Path::new);
                    assert_eq!(worker, Some(crates.join("worker").as_path()));
                }
                None => assert_eq!(worker["version"].as_str(), Some(env!("CARGO_PKG_VERSION"))),
            }
        }
    }

    #[test]
    fn the_commands_can_be_copied() {
        let next = next(Path::new("/my code/kvdyno-mine"), "mine");
        assert!(next.starts_with("  cd '/my code/kvdyno-mine'\n"), "{next}");
    }
}
