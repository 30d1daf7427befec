//! A file from a registry by its ordinary client, `mvn`, which checks what comes against the
//! registry's checksum. It knows nothing of what is inside.

use crate::exit::Complaint;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// No more is kept of what it says.
const SAID_BYTES_MAX: usize = 1 << 20;

/// Copies the artifact of these coordinates into `folder`, and tells how far it is: bytes done of
/// all.
pub(super) fn copy(
    coordinates: &str,
    folder: &Path,
    mut tell: impl FnMut(u64, u64),
) -> anyhow::Result<PathBuf> {
    // Its launcher's words: that there is no Java.
    let mut errors = tempfile::tempfile()?;
    let mut child = Command::new("mvn")
        .args(["--strict-checksums", "-Dstyle.color=never", "dependency:copy"])
        .arg(format!("-Dartifact={coordinates}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        // Where there is a project, its settings would count.
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors.try_clone()?)
        .spawn()
        .map_err(|error| not_started(&error))?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        listen(output, |line| {
            if let Some((done, all)) = progress(line) {
                tell(done, all);
            } else if said.len() + line.len() < SAID_BYTES_MAX {
                said.push_str(line);
                said.push('\n');
            }
        })?;
    }
    let status = child.wait()?;
    if !status.success() {
        errors.rewind()?;
        errors.take(SAID_BYTES_MAX as u64).read_to_string(&mut said)?;
        return Err(failed(coordinates, &said).into());
    }
    let jar = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jar");
    let mut files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    files.find(jar).ok_or_else(|| anyhow::anyhow!("`mvn` left no file of {coordinates}"))
}

/// Lines end by a newline, or by a return where a line is written over.
pub(super) fn listen(mut output: impl Read, mut hear: impl FnMut(&str)) -> io::Result<()> {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    loop {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        for byte in &buffer[..read] {
            if matches!(byte, b'\n' | b'\r') {
                hear(String::from_utf8_lossy(&line).trim_end());
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

fn not_started(error: &io::Error) -> Complaint {
    if error.kind() != io::ErrorKind::NotFound {
        return Complaint::usage(format!("failed to start `mvn`: {error}"));
    }
    Complaint::usage("`mvn` is not installed, which libraries are fetched with").hint(
        "`apt-get install maven`, or your system's package; without it `make rocksdb-native` \
         builds RocksDB from source, and `library = PATH` in a suite takes a build of yours",
    )
}

/// What it says of itself when it fails, what that means for an artifact (`{}`), and the remedy.
const FAILURES: [(&[&str], &str, &str); 5] = [
    (
        &["No space left on device"],
        "the disk is full: {} could not be kept",
        "`mvn` keeps what it fetches in ~/.m2 as well",
    ),
    (
        &["JAVA_HOME", "java: not found", "java: command not found"],
        "`mvn` found no Java, and fetched no {}",
        "`apt-get install default-jre-headless`, or set JAVA_HOME to one that is there",
    ),
    (
        &["Checksum validation failed"],
        "{} came damaged: it does not match its checksum",
        "try again; a mirror or proxy may be at fault",
    ),
    (
        &["Could not transfer", "No plugin found for prefix", "Unknown host"],
        "`mvn` could not reach its registry for {}",
        "is this machine online? A mirror or proxy is set in ~/.m2/settings.xml; a library fetched \
         elsewhere is named by `library = PATH` in a suite",
    ),
    (
        &["Could not find artifact"],
        "there is no {}",
        "`kvdyno engines list` shows releases that are known to be there",
    ),
];

/// Why it failed, by its own words.
fn failed(coordinates: &str, said: &str) -> Complaint {
    let known = FAILURES.iter().find(|(words, ..)| words.iter().any(|word| said.contains(word)));
    if let Some((_, what, hint)) = known {
        return Complaint::usage(what.replace("{}", coordinates)).hint(*hint);
    }
    let error = said.lines().find_map(|line| line.strip_prefix("[ERROR] "));
    let error = error.unwrap_or("it said nothing that is understood");
    Complaint::usage(format!("`mvn dependency:copy` of {coordinates} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_is_comes_in_lines_that_are_written_over() {
        let mut heard = Vec::new();
        let text = "[INFO] x\nProgress (1): 4.1/92 MB\rProgress (1): 0.5/1.2 kB\rDownloaded\n";
        listen(text.as_bytes(), |line| heard.push(progress(line))).unwrap();
        let expected = [None, Some((4_100_000, 92_000_000)), Some((500, 1_200)), None];
        assert_eq!(heard, expected);
    }

    #[test]
    fn each_failure_has_its_remedy() {
        let of = |said: &str| failed("g:a:1", said);
        let missing = of("[ERROR] Could not find artifact g:a:jar:1 in central");
        assert!(missing.message.contains("there is no g:a:1"), "{missing:?}");
        let offline = of("[ERROR] Could not transfer artifact g:a: Connection refused");
        assert!(offline.message.contains("could not reach"), "{offline:?}");
        assert!(of("java.io.IOException: No space left on device").message.contains("full"));
        assert!(of("Checksum validation failed, expected x").message.contains("damaged"));
        let java = of("The JAVA_HOME environment variable is not defined correctly,");
        assert!(java.message.contains("found no Java") && java.hint.is_some(), "{java:?}");
        let other = of("[INFO] a\n[ERROR] something else\n[ERROR] more");
        assert!(other.message.ends_with("failed: something else"), "{other:?}");
        let gone = not_started(&io::ErrorKind::NotFound.into());
        assert!(gone.hint.unwrap().contains("apt-get install maven"));
    }
}
