//! Messages of a crew's launcher in the log of its case: which rank died where.

use kvdyno_record::redact::redact;
use std::fs;
use std::path::Path;

/// The most characters of a message that are used as a cause.
const CHARS_MAX: usize = 300;

/// Reads the launcher's last message in a case's log; `None`: it wrote nothing.
pub(super) fn last_words(log: &Path) -> Option<String> {
    let bytes = fs::read(log).ok()?;
    launcher_message(&String::from_utf8_lossy(&bytes))
}

/// Returns the last message between two lines of dashes: `mpirun` puts them around its messages.
fn launcher_message(log: &str) -> Option<String> {
    let is_rule = |line: &str| line.len() >= 20 && line.bytes().all(|byte| byte == b'-');
    let lines: Vec<&str> = log.lines().map(str::trim_end).collect();
    let paragraphs: Vec<&[&str]> = lines.split(|line| is_rule(line)).collect();
    let mut quoted = paragraphs.iter().skip(1).step_by(2).rev();
    let last = quoted.find(|lines| lines.iter().any(|line| !line.is_empty()))?;
    let words = last.iter().flat_map(|line| line.split_whitespace());
    let words = words.collect::<Vec<_>>().join(" ");
    Some(redact(&words).chars().take(CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_paragraph_between_two_rules_is_the_cause() {
        let rule = "-".repeat(74);
        let text = format!(
            "rank 2: a worker's word\n{rule}\nPrimary job terminated normally, but 1 process \
             returned\na non-zero exit code.\n{rule}\n{rule}\nmpirun noticed that process rank 3 \
             with PID 0 on node b\nexited on signal 9 (Killed).\n{rule}\nrank 1: bye\n"
        );
        let cause = "mpirun noticed that process rank 3 with PID 0 on node b exited on signal 9 \
                     (Killed).";
        assert_eq!(launcher_message(&text).as_deref(), Some(cause));
        assert_eq!(launcher_message("rank 0: nothing\n---\n"), None);
        assert_eq!(launcher_message(&format!("{rule}\n")), None);
    }
}
