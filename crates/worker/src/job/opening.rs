//! Phases that open the engine again: once, or many times, after a close or after a writing process
//! was killed. The many openings are timed from the call to the first answer.

use super::{Case, PhaseResult};
use crate::clock::{Clock as _, unix_ns};
use crate::collector::Collector;
use crate::output::send;
use crate::recorder::Recorder;
use crate::tally::{Tally, TimeLine, Timing};
use crate::team::{self, ThreadResult};
use crate::usage;
use crate::values::is_sound;
use crate::watch::Watch;
use kvdyno_engine::graph::GraphEngine;
use kvdyno_engine::{Engine, Error, ErrorClass, Result, Session};
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::workload::{
    Activity, Choice, Ends, Mix, MixEntry, Op, Phase, Rate, Role, Schedule,
};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The threads of the process that is killed.
const WRITERS: u32 = 4;

/// The time after which that process is killed.
const WRITES_FOR: Duration = Duration::from_secs(1);

/// The time after which that process would end by itself, much later.
const WRITES_MAX: Duration = Duration::from_secs(3600);

impl<G: GraphEngine> Case<'_, G> {
    /// Opens the engine as often as the phase has operations. `None`: the program stopped the phase
    /// before it began.
    pub(super) fn measure_openings(
        &mut self,
        index: u32,
        phase: &Phase,
        mix: &Mix,
        op: &Op,
    ) -> Result<Option<PhaseResult>> {
        let engine = self.engine()?;
        let usage_before = self.listener.gate(index).pass(&|| engine.counters())?;
        let Some(usage_before) = usage_before else { return Ok(None) };
        let (started_unix_ns, start) = (unix_ns(), self.clock.now());
        let (sender, packets) = channel();
        let time = TimeLine::new((0, 0), start, self.job.slice_ns, u64::MAX, sender);
        let tallies = vec![Tally::new(op.info(), Timing::Closed)];
        // The time line has the openings alone, without the time between them.
        let mut recorder = Recorder::new(tallies, time, start);
        let operations = mix.ends.operations.unwrap_or(1);
        let mut rng = self.plan.rng(index, 0, (0, 1));
        for number in 0..operations {
            if self.listener.stop.is_set() {
                break;
            }
            self.close_before(index, number, op)?;
            let record = rng.below(self.job.data.records.max(1));
            self.time_opening(record, &mut recorder)?;
            send(&Event::Progress {
                phase: index,
                started_unix_ns,
                done: number + 1,
                total: Some(operations),
                elapsed_ns: self.clock.now() - start,
                threads: None,
            })?;
        }
        let result = ThreadResult::new(0, recorder, None, start, &mut || 0);
        let names: Vec<String> = mix.roles.iter().map(|role| role.name.clone()).collect();
        let task = self.plan.task(index, phase);
        let watch = Watch::new::<()>(None, &[]);
        Collector { task: &task, roles: &names, started_unix_ns, start, watch }.write_all(
            &packets,
            &mut self.files,
            result.last_end,
        )?;
        let mut roles =
            vec![team::empty_result(&self.plan.roles(index, mix, |_, _, _| ())[0], None)];
        result.add_to(&mut roles, start);
        Ok(Some(PhaseResult {
            usage_before,
            started_unix_ns,
            wall_ns: self.clock.now() - start,
            roles,
            stopped: self.listener.stop.is_set(),
            ..PhaseResult::default()
        }))
    }

    /// Closes the engine, lets the program evict its files, and opens it again. Writes of the close
    /// count for this phase.
    pub(super) fn evict(&mut self) -> Result<PhaseResult> {
        let (started_unix_ns, start) = (unix_ns(), self.clock.now());
        self.close()?;
        usage::return_free_memory();
        self.listener.wait_for_go()?;
        self.open()?;
        let stopped = self.listener.stop.is_set();
        Ok(PhaseResult {
            started_unix_ns,
            wall_ns: self.clock.now() - start,
            stopped,
            ..PhaseResult::default()
        })
    }

    /// Closes the engine and lets the program evict the files. If the operation is a recovery,
    /// another process writes to the database in between, until it is killed.
    fn close_before(&mut self, index: u32, number: u64, op: &Op) -> Result<()> {
        let Some(took_ns) = self.close_engine()? else { return Ok(()) };
        usage::return_free_memory();
        if let Op::Recover { writes, .. } = op {
            kill_writers(self.job, index, number, *writes)?;
        }
        send(&Event::Closed { took_ns })?;
        self.listener.wait_for_go()
    }

    /// Opens the engine and looks a record up. Counts how long that took.
    fn time_opening(&mut self, record: u64, recorder: &mut Recorder) -> Result<()> {
        let mut key = Vec::new();
        self.plan.supply.keys.push(record, &mut key);
        let verify = self.job.data.verify;
        let started = self.clock.now();
        let took_to_open = self.open_engine()?;
        let check = |value: &[u8]| (value.len() as u64, !verify || is_sound(value, record));
        let mut session = self.engine()?.session()?;
        let answer = session.get(&key, |value| value.map(check))?;
        let took_ns = self.clock.now() - started;
        drop(session);
        self.report_open(took_to_open)?;
        let tally = count_opening(recorder, took_ns);
        match answer {
            Some((bytes, sound)) => {
                tally.read_bytes += key.len() as u64 + bytes;
                let stores = !G::Engine::describe().capabilities.stores_nothing;
                tally.wrong += u64::from(!sound && stores);
            }
            None => tally.missing += 1,
        }
        Ok(())
    }
}

/// Counts an opening in the slice in which it ended, as every operation is. Returns its tally.
fn count_opening(recorder: &mut Recorder, took_ns: u64) -> &mut Tally {
    recorder.last_end += took_ns;
    if recorder.last_end >= recorder.edge {
        recorder.edge = recorder.time.cross(recorder.last_end, &mut recorder.tallies);
    }
    let tally = &mut recorder.tallies[0];
    tally.count += 1;
    tally.service.record(took_ns);
    tally
}

/// Starts this worker once more on the same database, lets it update records at a rate, and kills
/// it meanwhile.
fn kill_writers(job: &Job, index: u32, number: u64, writes: u64) -> Result<()> {
    let dir = job.dir.join(format!("killed-{index}-{number}"));
    fs::create_dir(&dir)?;
    let killed = write_and_kill(job, index, number, writes, &dir);
    fs::remove_dir_all(&dir)?;
    killed.map_err(|error| error.context("the process that writes and is killed"))
}

fn write_and_kill(job: &Job, index: u32, number: u64, writes: u64, dir: &Path) -> Result<()> {
    let killed_job = writing_job(job, index, number, writes, dir);
    let line = killed_job.to_line().map_err(|error| other_error(&error))?;
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let written = write_for_a_while(&mut child, &line);
    child.kill()?;
    // Its input stays open until now: at the end of its input the process would end by itself.
    let status = child.wait()?;
    if written.is_err() && status.signal() != Some(libc::SIGKILL) {
        let what = format!("expected it to run until it is killed, found {status}");
        return written.map_err(|error| error.context(&what));
    }
    written
}

/// The job of the process that is killed: updates of random records at a rate.
fn writing_job(job: &Job, index: u32, number: u64, writes: u64, dir: &Path) -> Job {
    let update = MixEntry::new(Op::Update, 1.0, Choice::Uniform);
    let mut role = Role::new("writers", WRITERS, vec![update]);
    role.rate = Some(Rate::new(writes as f64 / WRITES_FOR.as_secs_f64(), Schedule::Fixed));
    let ends = Ends::after_ns(WRITES_MAX.as_nanos() as u64);
    let work = Activity::Measure(Mix { roles: vec![role], ends });
    let before = job.phases_before.iter().chain(&job.phases[..index as usize]).cloned();
    Job {
        phases: vec![Phase::new("writing", work)],
        phases_before: before.collect(),
        dir: dir.to_owned(),
        // Each such process of a phase draws other keys.
        trial: job.trial.wrapping_mul(1 << 16).wrapping_add(number as u32),
        recordings: Vec::new(),
        ..job.clone()
    }
}

/// Reads the other worker's events until it has written for long enough.
fn write_for_a_while(child: &mut Child, job: &[u8]) -> Result<()> {
    let gone = || Error::new(ErrorClass::Other, "it ended before it was killed");
    let input = child.stdin.as_mut().ok_or_else(gone)?;
    let mut output = BufReader::new(child.stdout.as_mut().ok_or_else(gone)?);
    input.write_all(job)?;
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        match Event::from_json(&line) {
            Ok(Event::Ready { .. }) => {
                input.write_all(&Control::Go.to_line().map_err(|error| other_error(&error))?)?;
            }
            Ok(Event::Progress { elapsed_ns, .. })
                if elapsed_ns >= WRITES_FOR.as_nanos() as u64 =>
            {
                return Ok(());
            }
            Ok(Event::Failed { class, message, .. }) => return Err(Error::new(class, message)),
            _ => {}
        }
        line.clear();
    }
    Err(gone())
}

fn other_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorClass::Other, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: an opening belonged to the slice in which it began.
    #[test]
    fn an_opening_belongs_to_the_slice_it_ends_in() {
        let (sender, packets) = channel();
        let time = TimeLine::new((0, 0), 100, 1_000, u64::MAX, sender);
        let tallies = vec![Tally::new(Op::Get.info(), Timing::Closed)];
        let mut recorder = Recorder::new(tallies, time, 100);
        for took_ns in [700, 701, 1_800] {
            count_opening(&mut recorder, took_ns);
        }
        ThreadResult::new(0, recorder, None, 100, &mut || 0);
        let sent: Vec<(u64, u64)> =
            packets.iter().map(|packet| (packet.slice, packet.times[0].service.sum)).collect();
        assert_eq!(sent, [(0, 700), (1, 701), (3, 1_800)]);
    }
}
