//! `kvdyno new-engine`: creates an engine outside of this repository that passes the conformance
//! kit: a crate in Rust, or a plugin in another language.
//!
//! The templates are the files in this module's directory, with placeholders for the name, for the
//! path of the contract's crates, and for the program that runs plugins.

mod templates;

use crate::cli::{Language, NewEngineArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::workers;
use anyhow::Context as _;
use kvdyno_record::exit::Exit;
use kvdyno_render::command::command_line;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use templates::templates;

/// kvdyno's own engines: found next to it, before any others of the same name.
const SHIPPED: [&str; 19] = [
    "aerospike",
    "direct",
    "drive",
    "fio",
    "fjall",
    "lmdb",
    "lmdb1",
    "mariadb",
    "mdbx",
    "memcached",
    "mongodb",
    "null",
    "plugin",
    "postgres",
    "redb",
    "redis",
    "rocksdb",
    "sqlite",
    "surrealkv",
];

pub(crate) fn run(args: &NewEngineArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let (name, language) = (args.name.as_str(), args.language);
    refuse(name)?;
    let dir = make_dir(&args.into, name)?;
    let blanks =
        Blanks { name, language, checkout: checkout(), plugin: workers::find_plugin_program() };
    write(&dir, &blanks).inspect_err(|_| {
        // The directory was created a moment ago, so the write error is the one to report.
        let _ = fs::remove_dir_all(&dir);
    })?;
    printer.data(&format!("wrote {}:", dir.display()));
    printer.data(&list(language));
    if let Some(missing) = blanks.missing() {
        printer.warning(&missing);
    }
    printer.data(&format!("\nNext steps:\n{}", next_commands(&dir, name, language)));
    Ok(Exit::Ok)
}

/// Lists the files, each with a description.
fn list(language: Language) -> String {
    let files = templates(language);
    let width = files.iter().map(|(file, ..)| file.len() + 2).max().unwrap_or(0);
    let lines = files.iter().map(|(file, _, what)| format!("  {file:<width$}{what}"));
    lines.collect::<Vec<_>>().join("\n")
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
fn make_dir(into: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let parent = match into.canonicalize() {
        Ok(parent) if parent.is_dir() => parent,
        Ok(_) => return Err(no_dir(format!("{} is not a directory", into.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(no_dir(format!("the directory {} does not exist", into.display())));
        }
        Err(error) => return Err(error).context(format!("failed to find {}", into.display())),
    };
    let dir = parent.join(format!("kvdyno-{name}"));
    match fs::create_dir(&dir) {
        Ok(()) => Ok(dir),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} already exists", dir.display());
            let hint = "use another name, or another directory with --into; nothing was changed";
            Err(Complaint::usage(message).hint(hint).into())
        }
        Err(error) => Err(error).context(format!("failed to create {}", dir.display())),
    }
}

fn no_dir(message: String) -> anyhow::Error {
    Complaint::usage(message).hint("--into needs an existing directory").into()
}

/// `crates/` of the checkout that built this program, if it still exists.
fn checkout() -> Option<PathBuf> {
    let crates = Path::new(option_env!("KVDYNO_SOURCE")?).join("crates");
    let has_crate = |name: &str| crates.join(name).join("Cargo.toml").is_file();
    (has_crate("engine") && has_crate("worker")).then_some(crates)
}

/// The values for the placeholders of templates.
struct Blanks<'a> {
    name: &'a str,
    language: Language,
    /// The directory of the contract's crates; none: their checkout is gone.
    checkout: Option<PathBuf>,
    /// The program that runs plugins; none: not found.
    plugin: Option<PathBuf>,
}

impl Blanks<'_> {
    /// A warning about what the new engine needs and is missing here.
    fn missing(&self) -> Option<String> {
        match self.language {
            Language::Rust if self.checkout.is_none() => Some(format!(
                "the checkout of this kvdyno is gone: Cargo.toml uses version {} of the crates \
                 kvdyno-engine and kvdyno-worker",
                env!("CARGO_PKG_VERSION")
            )),
            Language::Rust => None,
            _ if self.plugin.is_none() => Some(
                "cannot find the program `kvdyno-plugin`, which runs plugins: `make engines` \
                 builds it"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn fill_template(&self, template: &str) -> String {
        let whence = match self.checkout {
            Some(_) => "Paths into the checkout of this kvdyno: both must have the same protocol.",
            None => "The version of this kvdyno: both must have the same protocol.",
        };
        let way = |name: &str| match &self.checkout {
            Some(crates) => format!("path = {}", toml_text(&crates.join(name))),
            None => format!("version = \"{}\"", env!("CARGO_PKG_VERSION")),
        };
        let plugin = self.plugin.as_deref().unwrap_or(Path::new("kvdyno-plugin"));
        template
            .replace("@NAME@", self.name)
            .replace("@WHENCE@", whence)
            .replace("@ENGINE@", &way("engine"))
            .replace("@WORKER@", &way("worker"))
            .replace("@PLUGIN@", &plugin.to_string_lossy().replace('$', "$$"))
            .replace("@FILES@", &list(self.language).replace('\n', "\n  "))
    }
}

fn write(dir: &Path, blanks: &Blanks<'_>) -> anyhow::Result<()> {
    for (file, template, _) in templates(blanks.language) {
        let path = dir.join(file);
        let failed = || format!("failed to write {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(dir)).with_context(failed)?;
        fs::write(&path, blanks.fill_template(template)).with_context(failed)?;
    }
    Ok(())
}

fn toml_text(path: &Path) -> String {
    toml::Value::String(path.to_string_lossy().into_owned()).to_string()
}

/// The next commands, as shell input.
fn next_commands(dir: &Path, name: &str, language: Language) -> String {
    let enter = command_line(&["cd".to_owned(), dir.to_string_lossy().into_owned()]);
    let (build, path) = match language {
        Language::Rust => ("cargo test\n  cargo build --release", "$PWD/target/release"),
        _ => ("make test", "$PWD"),
    };
    format!(
        "  {enter}
  {build}
  KVDYNO_ENGINE_PATH={path} kvdyno run quick --engine {name} --no-ram-limit
The whole map is in memory: omit --no-ram-limit for an engine that is not."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of `engines/` are kvdyno's own engines.
    #[test]
    fn the_engines_of_this_repository_are_known() {
        let engines = Path::new(env!("KVDYNO_SOURCE")).join("engines");
        let names = fs::read_dir(engines).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, SHIPPED);
    }

    const EVERY: [Language; 5] =
        [Language::C, Language::Cpp, Language::Go, Language::Rust, Language::Zig];

    fn blanks(language: Language, checkout: Option<&str>) -> Blanks<'static> {
        let (name, plugin) = ("mine", Some("/a $dollar/kvdyno-plugin".into()));
        Blanks { name, language, checkout: checkout.map(PathBuf::from), plugin }
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for language in EVERY {
            for (file, template, _) in templates(language) {
                let text = blanks(language, None).fill_template(template);
                let blank = ["NAME", "WHENCE", "ENGINE", "WORKER", "PLUGIN", "FILES"];
                let left = blank.iter().find(|word| text.contains(&format!("@{word}@")));
                assert_eq!(left, None, "{file}: {text}");
                if *file == "Makefile" {
                    assert!(text.contains("/a $$dollar/kvdyno-plugin\n"), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_manifest_names_the_checkout_or_the_version() {
        for checkout in [None, Some("/a \"quoted\" path/crates")] {
            let text =
                blanks(Language::Rust, checkout).fill_template(templates(Language::Rust)[0].1);
            let manifest: toml::Table = text.parse().unwrap();
            let worker = manifest["dependencies"]["kvdyno-worker"].as_table().unwrap();
            match checkout {
                Some(crates) => {
                    let worker = worker["path"].as_str().map(Path::new);
                    assert_eq!(worker, Some(Path::new(crates).join("worker").as_path()));
                }
                None => assert_eq!(worker["version"].as_str(), Some(env!("CARGO_PKG_VERSION"))),
            }
        }
    }

    #[test]
    fn the_commands_can_be_copied() {
        for language in EVERY {
            let next = next_commands(Path::new("/my code/kvdyno-mine"), "mine", language);
            assert!(next.starts_with("  cd '/my code/kvdyno-mine'\n"), "{next}");
        }
    }
}
