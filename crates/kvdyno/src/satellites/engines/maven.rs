//! Fetches a file from a registry with its ordinary client, `mvn`, which verifies checksums. This
//! module does not look inside the file.

use crate::exit::Complaint;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Upper bound of stored output, in bytes.
const SAID_BYTES_MAX: usize = 1 << 20;

/// Copies the artifact with these coordinates into `dir`, and reports the progress: bytes done
/// of all.
pub(super) fn copy(
    coordinates: &str,
    dir: &Path,
    mut report: impl FnMut(u64, u64),
) -> anyhow::Result<PathBuf> {
    // The error output may be the launcher's message that Java is missing.
    let mut errors = tempfile::tempfile()?;
    let mut child = Command::new("mvn")
        .args(["--strict-checksums", "-Dstyle.color=never", "dependency:copy"])
        .arg(format!("-Dartifact={coordinates}"))
        .arg(format!("-DoutputDirectory={}", dir.display()))
        // Runs outside of any project, whose settings would apply.
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors.try_clone()?)
        .spawn()
        .map_err(|error| start_error(&error))?;
    let mut output = String::new();
    if let Some(stdout) = child.stdout.take() {
        listen(stdout, |line| {
            if let Some((done, all)) = progress(line) {
                report(done, all);
            } else if output.len() + line.len() < SAID_BYTES_MAX {
                output.push_str(line);
                output.push('\n');
            }
        })?;
    }
    let status = child.wait()?;
    if !status.success() {
        errors.rewind()?;
        let mut bytes = Vec::new();
        errors.take(SAID_BYTES_MAX as u64).read_to_end(&mut bytes)?;
        output.push_str(&String::from_utf8_lossy(&bytes));
        return Err(maven_error(coordinates, &output).into());
    }
    let jar = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jar");
    let mut files = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    files.find(jar).ok_or_else(|| anyhow::anyhow!("`mvn` did not copy {coordinates}"))
}

/// Calls `on_line` with each line. Lines end with a newline, or with a return if overwritten.
pub(super) fn listen(mut output: impl Read, mut on_line: impl FnMut(&str)) -> io::Result<()> {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    loop {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        for byte in &buffer[..read] {
            if matches!(byte, b'\n' | b'\r') {
                on_line(String::from_utf8_lossy(&line).trim_end());
                line.clear();
            } else if line.len() < SAID_BYTES_MAX {
                line.push(*byte);
            }
        }
    }
}

/// `Progress (1): 12/92 MB`.
fn progress(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.split_once("Progress (1): ")?;
    let (done, rest) = rest.split_once('/')?;
    let (all, unit) = rest.trim().split_once(' ')?;
    let unit = match unit.trim() {
        "GB" => 1e9,
        "MB" => 1e6,
        "kB" | "KB" => 1e3,
        _ => 1.0,
    };
    let bytes =
        |text: &str| text.trim().parse::<f64>().ok().map(|number| (number * unit).round() as u64);
    Some((bytes(done)?, bytes(all)?))
}

fn start_error(error: &io::Error) -> Complaint {
    if error.kind() != io::ErrorKind::NotFound {
        return Complaint::usage(format!("failed to start `mvn`: {error}"));
    }
    Complaint::usage("`mvn` is not installed, and libraries are fetched with it").hint(
        "install it with `apt-get install maven`, or your system's package; without it, `make \
         rocksdb-native` builds RocksDB from source, and `library = PATH` in a suite uses a local \
         build",
    )
}

/// Words in the output of `mvn`, their meaning for an artifact (`{}`), and the remedy.
const FAILURES: [(&[&str], &str, &str); 5] = [
    (
        &["No space left on device"],
        "the disk is full: cannot store {}",
        "`mvn` also stores its downloads in ~/.m2",
    ),
    (
        &["JAVA_HOME", "java: not found", "java: command not found"],
        "`mvn` cannot find Java for {}",
        "`apt-get install default-jre-headless`, or set JAVA_HOME to an installed one",
    ),
    (
        &["Checksum validation failed"],
        "{} is damaged: its checksum does not match",
        "try again; the cause may be a mirror or proxy",
    ),
    (
        &["Could not transfer", "No plugin found for prefix", "Unknown host"],
        "`mvn` cannot reach its registry for {}",
        "check that this machine is online; ~/.m2/settings.xml sets a mirror or proxy; for a \
         library from elsewhere use `library = PATH` in a suite",
    ),
    (&["Could not find artifact"], "there is no {}", "`kvdyno engines list` shows known releases"),
];

/// Returns the reason of a failure, from the output of `mvn`.
fn maven_error(coordinates: &str, output: &str) -> Complaint {
    let failure =
        FAILURES.iter().find(|(words, ..)| words.iter().any(|word| output.contains(word)));
    if let Some((_, what, hint)) = failure {
        return Complaint::usage(what.replace("{}", coordinates)).hint(*hint);
    }
    let error = output.lines().find_map(|line| line.strip_prefix("[ERROR] "));
    let error = error.unwrap_or("unknown reason");
    Complaint::usage(format!("`mvn dependency:copy` of {coordinates} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_is_comes_in_lines_that_are_written_over() {
        let mut progress_lines = Vec::new();
        let text = "[INFO] x\nProgress (1): 4.1/92 MB\rProgress (1): 0.5/1.2 kB\rDownloaded\n";
        listen(text.as_bytes(), |line| progress_lines.push(progress(line))).unwrap();
        let expected = [None, Some((4_100_000, 92_000_000)), Some((500, 1_200)), None];
        assert_eq!(progress_lines, expected);
    }

    #[test]
    fn each_failure_has_its_remedy() {
        let failure_of = |output: &str| maven_error("g:a:1", output);
        let missing = failure_of("[ERROR] Could not find artifact g:a:jar:1 in central");
        assert!(missing.message.contains("g:a:1"), "{missing:?}");
        let offline = failure_of("[ERROR] Could not transfer artifact g:a: Connection refused");
        assert!(offline.message.contains("cannot reach"), "{offline:?}");
        assert!(
            failure_of("java.io.IOException: No space left on device").message.contains("full")
        );
        assert!(failure_of("Checksum validation failed, expected x").message.contains("damaged"));
        let java = failure_of("The JAVA_HOME environment variable is not defined correctly,");
        assert!(java.message.contains("cannot find Java") && java.hint.is_some(), "{java:?}");
        let other = failure_of("[INFO] a\n[ERROR] something else\n[ERROR] more");
        assert!(other.message.ends_with("failed: something else"), "{other:?}");
        let gone = start_error(&io::ErrorKind::NotFound.into());
        assert!(gone.hint.unwrap().contains("apt-get install maven"));
    }
}
