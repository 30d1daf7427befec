//! The program of a server, which its engine has in place of a library.

use crate::{Error, Result, library};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A server's program, once it is found.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The version that it prints.
    pub version: String,
    /// Facts that decide its speed, for a description.
    pub build: BTreeMap<String, String>,
}

/// The program to look for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec {
    /// The engine's name.
    pub engine: &'static str,
    /// The server's title.
    pub title: &'static str,
    /// The program's name on PATH.
    pub program: &'static str,
    /// What to do if there is none.
    pub remedy: &'static str,
    /// Parses the output of `--version`.
    pub version: fn(&str) -> Option<&str>,
}

/// The server program of this process, looked for once.
#[derive(Debug)]
pub struct ServerProgram {
    spec: ProgramSpec,
    program: OnceLock<Result<Program>>,
}

impl ServerProgram {
    /// A program that is not looked for yet.
    pub const fn new(spec: ProgramSpec) -> Self {
        Self { spec, program: OnceLock::new() }
    }

    /// The program at `path`, or the newest that was fetched, or the one on PATH. Refuses a
    /// program other than the one that this process uses already.
    pub fn find(&self, path: Option<&Path>) -> Result<&Program> {
        let program = self.program.get_or_init(|| self.spec.find(path));
        let program = program.as_ref().map_err(Clone::clone)?;
        library::check_only(self.spec.title, &program.path, path).map(|()| program)
    }
}

impl ProgramSpec {
    fn find(&self, path: Option<&Path>) -> Result<Program> {
        let path = self.path(path)?;
        let refused = |what: &dyn Display| {
            Error::invalid(format!("program {}: {what}; {}", path.display(), self.remedy))
        };
        let output = command(&path).arg("--version").output().map_err(|error| refused(&error))?;
        let reply = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = (self.version)(&reply).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            let title = self.title;
            refused(&format!("expected the version of {title}, found: {reply} {}", errors.trim()))
        })?;
        let build = library::build_facts(&path, "program", [("says", reply.clone())]);
        Ok(Program { version: version.to_owned(), build, path })
    }

    fn path(&self, path: Option<&Path>) -> Result<PathBuf> {
        let chosen = library::choose_file(self.engine, self.title, path, self.remedy);
        if path.is_some() || chosen.is_ok() {
            return chosen;
        }
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = std::env::split_paths(&dirs).map(|dir| dir.join(self.program));
        programs.find(|program| program.is_absolute() && is_executable(program)).map_or(chosen, Ok)
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl Program {
    /// Version and build for a description; without a program, the reason.
    pub fn describe(program: Result<&Self>) -> (String, BTreeMap<String, String>) {
        match program {
            Ok(program) => (program.version.clone(), program.build.clone()),
            Err(error) => {
                ("unknown".to_owned(), BTreeMap::from([("program".to_owned(), error.message)]))
            }
        }
    }
}

/// A command that runs `program`, with the libraries that were unpacked with it.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    let libraries = library::bundled_library_dirs(program);
    if !libraries.is_empty() {
        command.env("LD_LIBRARY_PATH", libraries.join(":"));
    }
    command
}
