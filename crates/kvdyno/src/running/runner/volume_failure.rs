//! Finds cases that fail because their volume does: the volume is the cause, whatever the engine
//! reports. A write tests the volume, because the flags of its mount can be wrong.

use super::environment::CaseEnvironment;
use super::outcome::{EarlyEnd, Ending};
use kvdyno_host::child::ExitStatus;
use kvdyno_record::case::is_from_outside;
use kvdyno_record::engine::{Error, ErrorClass};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// A volume without room for this is full: no server starts with less.
const PROBE_BYTES: usize = 1 << 20;

/// The file of the probe, in the database's directory.
const PROBE: &str = ".kvdyno-probe";

/// The bytes at the end of a log that are searched.
const LOG_END_BYTES: u64 = 1 << 10;

/// The logs of a case.
const LOGS: [&str; 2] = ["server.txt", "log.txt"];

/// Makes the volume the cause of a case's failure, if it fails.
pub(super) fn blame_volume(
    environment: &CaseEnvironment<'_>,
    exit: &ExitStatus,
    ending: &mut Ending,
) {
    let failure = ending.failure.clone().or_else(|| unexplained_end(ending, exit));
    if let Some((class, message)) = failure {
        ending.failure = find_cause(environment, class, &message).or(ending.failure.take());
    }
}

/// Describes the end of a worker that reported nothing: it died, or did not return. `None`: there
/// is another reason for its end.
fn unexplained_end(ending: &Ending, exit: &ExitStatus) -> Option<(ErrorClass, String)> {
    let words = match &ending.cut {
        Some(EarlyEnd::Interrupted) => return None,
        Some(EarlyEnd::Overtime(message)) => message.clone(),
        Some(EarlyEnd::Overrun) => format!("over its time limit in `{}`", ending.phase),
        None if ending.is_done || exit.signal.is_some_and(is_from_outside) => return None,
        None => format!("the worker {exit} in `{}`", ending.phase),
    };
    Some((ErrorClass::Other, words))
}

/// Returns the failure with the volume as its cause; `None`: the volume works, or the engine
/// reports it.
pub(super) fn find_cause(
    environment: &CaseEnvironment<'_>,
    class: ErrorClass,
    message: &str,
) -> Option<(ErrorClass, String)> {
    if matches!(class, ErrorClass::Full | ErrorClass::Io | ErrorClass::Memory) {
        return None;
    }
    // The volume of an attached server is on another machine.
    let is_here = environment.case.server.is_none();
    let probed = is_here.then(|| probe(&environment.site.path).err()).flatten();
    if let Some(error) = probed.map(Error::from) {
        return Some((error.class, format!("the volume fails: {}: {message}", error.message)));
    }
    let find_in_log = |name: &&str| {
        let class = ErrorClass::from_volume_words(&read_end(&environment.dir.path.join(name)))?;
        Some((class, format!("the volume fails, by the end of {name}: {message}")))
    };
    ErrorClass::from_volume_words(message)
        .map(|class| (class, message.to_owned()))
        .or_else(|| LOGS.iter().find_map(find_in_log))
}

/// Writes a file, syncs and removes it. `Err`: the volume is read-only, fails or is full; a
/// directory that is missing, or a device, is no failure.
fn probe(dir: &Path) -> io::Result<()> {
    let path = dir.join(PROBE);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    });
    let removed = fs::remove_file(&path);
    let errors = [written, removed].into_iter().filter_map(Result::err);
    let of_volume = |error: &io::Error| ErrorClass::from_volume_words(&error.to_string()).is_some();
    errors.into_iter().find(of_volume).map_or(Ok(()), Err)
}

/// The last lines of a file; empty if there is none.
fn read_end(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let start = file.metadata()?.len().saturating_sub(LOG_END_BYTES);
        file.seek(SeekFrom::Start(start))?;
        file.read_to_end(&mut bytes)
    });
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::usage::ProcessUsage;

    #[test]
    fn a_volume_that_works_has_no_error_and_keeps_nothing() {
        let dir = tempfile::tempdir().unwrap();
        probe(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        probe(&dir.path().join("missing")).unwrap();
        probe(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn only_the_end_of_a_log_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.txt");
        assert_eq!(read_end(&path), "");
        fs::write(&path, format!("Input/output error\n{}", "x".repeat(1020))).unwrap();
        assert_eq!(ErrorClass::from_volume_words(&read_end(&path)), None);
        fs::write(&path, format!("{}PANIC: Input/output error", "x".repeat(2000))).unwrap();
        assert_eq!(ErrorClass::from_volume_words(&read_end(&path)), Some(ErrorClass::Io));
    }

    #[test]
    fn who_was_killed_or_interrupted_was_not_failed_by_the_volume() {
        let usage = ProcessUsage::default();
        let ended = |signal| ExitStatus { code: None, signal, usage: usage.clone() };
        let ending = Ending { phase: "measure".to_owned(), ..Ending::default() };
        assert!(unexplained_end(&ending, &ended(Some(9))).is_none());
        let (_, words) = unexplained_end(&ending, &ended(Some(7))).unwrap();
        assert_eq!(words, "the worker died of signal 7 in `measure`");
        let cut = Ending { cut: Some(EarlyEnd::Interrupted), ..ending.clone() };
        assert!(unexplained_end(&cut, &ended(None)).is_none());
        assert!(unexplained_end(&Ending { is_done: true, ..ending }, &ended(None)).is_none());
    }
}
