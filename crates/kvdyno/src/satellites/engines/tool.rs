//! Runs other programs for their output files: compilers, builders, package managers.

use super::maven::listen;
use crate::exit::Complaint;
use std::io::{self, Read, Seek};
use std::process::{Command, Stdio};

/// The most lines of output in an error.
const LINES_MAX: usize = 12;

/// Runs `command` to its end and reports each line of its output. If the program is missing or
/// fails, the error has `remedy` as hint.
pub(super) fn run(
    mut command: Command,
    remedy: &str,
    mut on_line: impl FnMut(&str),
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
    let mut lines = Vec::new();
    if let Some(output) = child.stdout.take() {
        listen(output, |line| {
            on_line(line);
            lines.push(line.to_owned());
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
    lines.extend(text.lines().map(str::to_owned));
    Err(Complaint::usage(format!("`{name}` failed:\n{}", error_lines(&lines))).hint(remedy).into())
}

/// The lines with errors; without any, the last ones.
fn error_lines(output: &[String]) -> String {
    let tells = |line: &&String| line.to_lowercase().contains("error");
    let mut lines: Vec<&String> = output.iter().filter(tells).take(LINES_MAX).collect();
    if lines.is_empty() {
        lines = output.iter().skip(output.len().saturating_sub(LINES_MAX)).collect();
    }
    lines.iter().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// Whether a program of this name is installed and runs.
pub(super) fn is_installed(name: &str) -> bool {
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
        let mut lines = Vec::new();
        run(shell("echo a; echo b"), "none", |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["a", "b"]);
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
