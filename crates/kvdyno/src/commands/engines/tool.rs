//! Other programs, run for what they leave behind: compilers, builders, package managers.

use super::maven::listen;
use crate::exit::Complaint;
use std::io::{self, Read, Seek};
use std::process::{Command, Stdio};

/// What it said last, where it fails.
const LINES_MAX: usize = 12;

/// Runs `command` to its end and tells each line of its output. Where the program is not there, or
/// fails, `remedy` is what may help.
pub(super) fn run(
    mut command: Command,
    remedy: &str,
    mut tell: impl FnMut(&str),
) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut errors = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.try_clone()?);
    let mut child = command.spawn().map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => format!("`{name}` is not installed"),
            _ => format!("failed to start `{name}`: {error}"),
        };
        Complaint::usage(what).hint(remedy)
    })?;
    let mut said = Vec::new();
    if let Some(output) = child.stdout.take() {
        listen(output, |line| {
            tell(line);
            said.push(line.to_owned());
        })?;
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    errors.rewind()?;
    errors.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    said.extend(text.lines().map(str::to_owned));
    Err(Complaint::usage(format!("`{name}` failed:\n{}", last(&said))).hint(remedy).into())
}

/// The lines that tell of errors; without any, the last ones.
fn last(said: &[String]) -> String {
    let tells = |line: &&String| line.to_lowercase().contains("error");
    let mut lines: Vec<&String> = said.iter().filter(tells).take(LINES_MAX).collect();
    if lines.is_empty() {
        lines = said.iter().skip(said.len().saturating_sub(LINES_MAX)).collect();
    }
    lines.iter().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// Whether a program of this name is there and runs.
pub(super) fn is_there(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_fails_says_why_and_what_helps() {
        let mut heard = Vec::new();
        run(shell("echo a; echo b"), "none", |line| heard.push(line.to_owned())).unwrap();
        assert_eq!(heard, ["a", "b"]);
        let script = "echo building; echo 'x.c:1: error: no y' >&2; echo later; exit 1";
        let failed = run(shell(script), "install y", |_| {}).unwrap_err();
        assert_eq!(failed.to_string(), "`sh` failed:\n  x.c:1: error: no y");
        let silent = run(shell("echo one; exit 3"), "", |_| {}).unwrap_err();
        assert_eq!(silent.to_string(), "`sh` failed:\n  one");
        let missing = run(Command::new("no-such-program"), "install it", |_| {}).unwrap_err();
        let complaint = missing.downcast::<Complaint>().unwrap();
        assert_eq!(complaint.message, "`no-such-program` is not installed");
        assert_eq!(complaint.hint.as_deref(), Some("install it"));
    }
}
