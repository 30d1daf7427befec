//! `kvdyno new-engine`: begins an engine outside of this repository, as a crate that passes the
//! conformance kit.
//!
//! What is written are the files of this module's folder, with the name and the way to the
//! contract's crates put in.

use crate::cli::NewEngineArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::workers;
use anyhow::Context as _;
use kvdyno_record::exit::Exit;
use kvdyno_render::command::command_line;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Engines that come with kvdyno: found next to it, before any other of their names.
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

/// Each file and what is in it, for the words behind its name.
const FILES: [(&str, &str, &str); 4] = [
    ("Cargo.toml", include_str!("new_engine/Cargo.toml.txt"), "what it is built of"),
    (
        "src/main.rs",
        include_str!("new_engine/main.rs.txt"),
        "the two traits, the kit as their test",
    ),
    (
        "src/store.rs",
        include_str!("new_engine/store.rs.txt"),
        "a map, to be replaced by your engine",
    ),
    ("README.md", include_str!("new_engine/README.md.txt"), "its commands"),
];

pub(crate) fn run(args: &NewEngineArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let name = args.name.as_str();
    refuse(name)?;
    let folder = make_folder(&args.into, name)?;
    let checkout = checkout();
    write(&folder, name, checkout.as_deref()).inspect_err(|_| {
        // It was made here a moment ago; that it cannot be written to is what is told.
        let _ = fs::remove_dir_all(&folder);
    })?;
    printer.data(&format!("wrote {}:", folder.display()));
    for (file, _, what) in FILES {
        printer.data(&format!("  {file:<14}{what}"));
    }
    if checkout.is_none() {
        printer.warning(&format!(
            "the checkout that this kvdyno was built from is gone: Cargo.toml asks for version {} \
             of the crates kvdyno-engine and kvdyno-worker",
            env!("CARGO_PKG_VERSION")
        ));
    }
    printer.data(&format!("\nHow to go on:\n{}", next(&folder, name)));
    Ok(Exit::Ok)
}

fn refuse(name: &str) -> Result<(), Complaint> {
    workers::check_name(name)?;
    if SHIPPED.contains(&name) {
        let message = format!("`{name}` is an engine that comes with kvdyno");
        return Err(Complaint::usage(message).hint(format!(
            "take another name, as {name}-mine: both can then stand in one report"
        )));
    }
    Ok(())
}

/// Makes the crate's folder, as an absolute path: whoever made it first has it.
fn make_folder(into: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let parent = match into.canonicalize() {
        Ok(parent) if parent.is_dir() => parent,
        Ok(_) => return Err(no_folder(format!("{} is no folder", into.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(no_folder(format!("there is no folder {}", into.display())));
        }
        Err(error) => return Err(error).context(format!("failed to find {}", into.display())),
    };
    let folder = parent.join(format!("kvdyno-{name}"));
    match fs::create_dir(&folder) {
        Ok(()) => Ok(folder),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} exists already", folder.display());
            let hint = "take another name, or another folder with --into; nothing was touched";
            Err(Complaint::usage(message).hint(hint).into())
        }
        Err(error) => Err(error).context(format!("failed to make {}", folder.display())),
    }
}

fn no_folder(message: String) -> anyhow::Error {
    Complaint::usage(message).hint("--into names one that is there").into()
}

/// `crates/` of the checkout that this program was built from, where it is still there.
fn checkout() -> Option<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let there = |name: &str| crates.join(name).join("Cargo.toml").is_file();
    (there("engine") && there("worker")).then(|| crates.to_owned())
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
        Some(_) => {
            "By their paths in the checkout that kvdyno was built from: one protocol for both."
        }
        None => "Of kvdyno's own version: both have to speak one protocol.",
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

/// The commands that come next, as a shell takes them.
fn next(folder: &Path, name: &str) -> String {
    let enter = command_line(&["cd".to_owned(), folder.to_string_lossy().into_owned()]);
    format!(
        "  {enter}
  cargo test
  cargo build --release
  KVDYNO_ENGINE_PATH=$PWD/target/release kvdyno run quick --engine {name} --no-ram-limit
The map lies in memory as a whole: leave --no-ram-limit out for an engine that does not."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in `engines/` is what comes with kvdyno.
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
