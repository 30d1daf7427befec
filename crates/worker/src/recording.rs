//! The requests of an engine, recorded as a trace.
//!
//! Nothing is added to the timed loops: they record how long each step of a block took, from which
//! follows when each step began. Once a block, or a part of one, has been performed, its requests
//! go into a file of the thread. When the phase is over, the files of all threads become one trace.

use crate::block::Step;
use crate::clock::Clock;
use crate::hot::Prepared;
use crate::keyed::{Action, KeyedStep, View};
use crate::kind::Kind;
use crate::recorder::Recorder;
use kvdyno_engine::{Error, ErrorClass, Result};
use kvdyno_record::protocol::{Job, Recording};
use kvdyno_trace::{self as trace, Op, Recorded, Request, Spool, Times, TraceError, TraceWriter};
use std::io;
use std::ops::Range;
use std::path::PathBuf;

fn find_recording(job: &Job, phase: u32) -> Option<&Recording> {
    job.recordings.iter().find(|recording| recording.phase == phase)
}

/// The directory of the threads' files of a phase; none: the phase is not recorded.
pub(crate) fn dir(job: &Job, phase: u32) -> Option<PathBuf> {
    find_recording(job, phase)?.file.parent().map(PathBuf::from)
}

/// Records the steps of a range, which the loop of `calls` has performed.
pub(crate) fn note<K: Kind, C: Clock>(
    clock: C,
    Prepared { block, view }: &Prepared<'_, K>,
    range: Range<usize>,
    recorder: &mut Recorder,
) -> Result<()> {
    let Recorder { requests: Some(spool), ticks, late_ns, last_end, .. } = recorder else {
        return Ok(());
    };
    // If the end of each step is the start of the next, counts back from the last end.
    let mut behind: u64 = ticks[range.clone()].iter().sum();
    for index in range {
        let began_ns = match block.due.get(index) {
            Some(due) => due + late_ns[index],
            None => last_end.saturating_sub(clock.ns(behind)),
        };
        behind -= ticks[index];
        K::record(&block.steps[index], view, began_ns, spool).map_err(recording_error)?;
    }
    Ok(())
}

/// Records steps that the loop of `flight` submitted together.
pub(crate) fn note_together(
    steps: &[Step<KeyedStep>],
    view: &View<'_>,
    began_ns: u64,
    spool: &mut Spool,
) -> Result<()> {
    steps
        .iter()
        .try_for_each(|step| record_step(step, view, began_ns, spool))
        .map_err(recording_error)
}

fn recording_error(error: io::Error) -> Error {
    Error::from(error).context("recording requests")
}

/// Records the requests of a step: one per key, marked as requests of one call.
pub(crate) fn record_step(
    step: &Step<KeyedStep>,
    view: &View<'_>,
    at_ns: u64,
    spool: &mut Spool,
) -> io::Result<()> {
    let KeyedStep { action, first, items, value } = step.action;
    let (op, keys, writes) = match action {
        Action::Get => (Op::Get, 1, false),
        Action::Put | Action::PutExpiring => (Op::Put, 1, true),
        Action::Delete => (Op::Delete, 1, false),
        Action::ScanForward => (Op::Scan, 1, false),
        Action::ScanReverse => (Op::ScanReverse, 1, false),
        Action::ReadModifyWrite => (Op::Rmw, 1, true),
        Action::Multiget => (Op::Get, items, false),
        Action::Batch => (Op::Put, items, true),
        Action::WalkForward | Action::WalkReverse => {
            spool.leave_out_walk();
            return Ok(());
        }
        Action::ReadAt | Action::WriteAt | Action::Discard | Action::Flush => {
            return Err(io::Error::other("requests of a drive are not recorded"));
        }
    };
    for item in 0..keys {
        let value_bytes = if writes { view.value(value + item).len() as u64 } else { 0 };
        let ttl = view.ttl(value + item).filter(|_| writes).unwrap_or_default();
        spool.push(&Request {
            at_ns,
            op,
            joined: item > 0,
            key: view.data.numbers[(first + item) as usize],
            key_bytes: view.key(first + item).len() as u32,
            value_bytes,
            client: 0,
            ttl_ns: ttl.as_nanos() as u64,
        })?;
    }
    Ok(())
}

/// Makes the trace of a phase that came to its end.
pub(crate) fn end(job: &Job, phase: u32, spools: Vec<Spool>) -> Result<()> {
    let Some(recording) = find_recording(job, phase) else { return Ok(()) };
    let source = Recorded {
        phase: job.phases[phase as usize].name.clone(),
        engine: recording.engine.clone(),
        records: job.data.loaded_items(),
    };
    let header = trace::Header::new(trace::Kind::Keys, source, &recording.suite, Times::Exact);
    let write = || trace::merge(spools, TraceWriter::create(&recording.file, header)?);
    let other = |error: TraceError| Error::new(ErrorClass::Other, error.to_string());
    write().map(drop).map_err(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Costs, Play, Played, START, Script};
    use kvdyno_trace::TraceReader;

    const MS: u64 = 1_000_000;

    /// Runs a play. Returns when each of its requests began, since the first, and the result.
    fn began(play: &Play, script: Script) -> (Vec<u64>, Played) {
        let dir = tempfile::tempdir().unwrap();
        let play = Play { spools: Some(dir.path().to_owned()), ..*play };
        let mut played = play.run(script);
        let spool = played.result.requests.take().unwrap();
        let source = Recorded { phase: "p".into(), engine: "e".into(), records: 100 };
        let header = trace::Header::new(trace::Kind::Keys, source, "s", Times::Exact);
        let to = dir.path().join("t");
        trace::merge(vec![spool], TraceWriter::create(&to, header).unwrap()).unwrap();
        let (mut reader, mut requests) = (TraceReader::open(&to).unwrap(), Vec::new());
        reader.next_block(&mut requests).unwrap();
        for request in &requests {
            assert_eq!((request.op, request.key_bytes, request.value_bytes), (Op::Get, 16, 0));
            assert!(request.key < 100);
        }
        (requests.iter().map(|request| request.at_ns).collect(), played)
    }

    /// Each request begins at the reading that ended the previous one; after a failure, a slice's
    /// edge and a block there is one more reading.
    #[test]
    fn a_closed_loops_requests_begin_when_the_one_before_ended() {
        let costs = Costs { reading: 1, preparing: 0, filing: 0 };
        let play = Play { costs, operations: Some(5), errors_max: 1, ..Play::default() };
        let calls = [Ok(100), Ok(200), Err(50), Ok(300), Ok(10)];
        let (times, played) = began(&play, Script::new(&calls, 0));
        assert_eq!(times, [0, 101, 302, 302 + 51 + 1, 302 + 51 + 1 + 301]);
        assert_eq!(played.count(), 4, "what failed was asked for as well");

        let play = Play { slice_ns: 1_000, operations: Some(5), ..Play::default() };
        let (times, _) = began(&play, Script::new(&[], 399));
        // Requests begin at 400, 800 and so on; past an edge there is one more reading.
        assert_eq!(times, [0, 400, 800, 1_201, 1_601]);
    }

    /// A stall delays the requests that were due meanwhile.
    #[test]
    fn an_open_loops_requests_begin_when_they_are_made() {
        let play = Play { rate: Some(1_000.0), duration_ns: Some(5 * MS), ..Play::default() };
        let (times, played) = began(&play, Script::new(&[Ok(100), Ok(2_500_000)], 100));
        assert_eq!(times.len() as u64, played.count());
        let late: Vec<u64> = times.iter().zip(0u64..).map(|(time, n)| time - n * MS).collect();
        assert!(late[0] == 0 && late[1] == 0 && late[4] == 0, "{late:?}");
        assert!((1_500_000..1_500_100).contains(&late[2]), "{late:?}");
        assert!((500_000..500_300).contains(&late[3]), "{late:?}");
    }

    #[test]
    fn requests_in_flight_begin_with_their_round() {
        let play = Play { depth: Some(2), operations: Some(6), ..Play::default() };
        let (times, played) = began(&play, Script { answers: 2, ..Script::new(&[], 1_000) });
        assert_eq!((times.len() as u64, played.count()), (6, 6));
        for pair in times.chunks(2) {
            assert_eq!(pair[0], pair[1], "{times:?}");
        }
        assert!(times[2] > 1_000 && times[4] > times[2] + 1_000, "{times:?}");
    }

    #[test]
    fn what_is_not_recorded_has_no_file() {
        let played = Play { operations: Some(5), ..Play::default() }.run(Script::new(&[], 10));
        assert!(played.result.requests.is_none() && played.result.last_end > START);
    }
}
