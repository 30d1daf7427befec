//! The protocol of a worker, for fio. For each phase it waits for the program, runs fio, and
//! records fio's report. fio reports a phase as a whole, so the series has one slice for each.

use crate::child;
use crate::command::{arguments, path};
use kvdyno_engine::{Counters, Error, ErrorClass, Result, Value};
use kvdyno_record::fio::{self, Report};
use kvdyno_record::hlog;
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{Activity, Mix, Phase};
use std::fs::File;
use std::io::{self, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

/// The time between two polls of fio and of the program.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Sends the first line.
pub(crate) fn hello() -> io::Result<()> {
    send(&Event::Hello {
        protocol: kvdyno_record::PROTOCOL,
        clock: "monotonic".to_owned(),
        clock_hz: 1e9,
        clock_note: "fio's own clock".to_owned(),
    })
}

/// Does a job.
pub(crate) fn run(job: &Job) -> io::Result<ExitCode> {
    let mut phase = None;
    match run_job(job, &mut phase) {
        Ok(()) => {
            send(&Event::Done { drift_ppm: None })?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            send(&Event::from_error(phase, &error))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn run_job(job: &Job, current: &mut Option<u32>) -> Result<()> {
    if job.protocol != kvdyno_record::PROTOCOL {
        return Err(Error::invalid(format!(
            "expected protocol {1}, found {0}; build worker and program from one version",
            job.protocol,
            kvdyno_record::PROTOCOL
        )));
    }
    if !path(&job.location)?.exists() {
        return Err(Error::invalid("no file of blocks; run a case of engine `drive` first"));
    }
    let mut case = Case::begin(job)?;
    report_opened()?;
    for (index, phase) in job.phases.iter().enumerate() {
        *current = Some(index as u32);
        if case.phase(index as u32, phase)? {
            break;
        }
    }
    Ok(send(&Event::Closed { took_ns: 0 })?)
}

/// Reports the case as opened: there is nothing to open before fio runs.
fn report_opened() -> Result<()> {
    Ok(send(&Event::Opened { took_ns: 0, crew: None })?)
}

fn send(event: &Event) -> io::Result<()> {
    io::stdout().lock().write_all(&event.to_line()?)
}

/// A case that runs.
struct Case<'j> {
    job: &'j Job,
    controls: Receiver<Control>,
    series: File,
    latency: hlog::Writer,
    begun: Instant,
    /// The usage of fio's processes so far, by its own account.
    usage: ProcessUsage,
    /// The counters of the last phase.
    counters: Counters,
}

/// The result of a phase.
#[derive(Default)]
struct PhaseResult {
    wall_ns: u64,
    job: Option<fio::Job>,
    stopped: bool,
}

impl<'j> Case<'j> {
    fn begin(job: &'j Job) -> Result<Self> {
        let (sender, controls) = channel();
        std::thread::spawn(move || {
            // When the input ends, the channel is closed.
            for line in io::stdin().lines().map_while(io::Result::ok) {
                let control = Control::from_json(&line);
                if control.is_ok_and(|control| sender.send(control).is_err()) {
                    return;
                }
            }
        });
        let failed = |error: kvdyno_record::files::RecordError| {
            Error::new(ErrorClass::Other, error.to_string())
        };
        let latency = job.dir.join("latency.hlog");
        Ok(Self {
            job,
            controls,
            series: File::create_new(job.dir.join("series.ndjson"))?,
            latency: hlog::Writer::create(&latency, SystemTime::now()).map_err(failed)?,
            begun: Instant::now(),
            usage: ProcessUsage::default(),
            counters: Counters::new(),
        })
    }

    /// Waits for the program's order to go on. Returns true if the program stops the case.
    fn wait_for_go(&self) -> Result<bool> {
        match self.controls.recv() {
            Ok(Control::Go) => Ok(false),
            Ok(Control::Stop) => Ok(true),
            Err(_) => Err(Error::new(ErrorClass::Other, "the program has ended")),
        }
    }

    fn phase(&mut self, index: u32, phase: &Phase) -> Result<bool> {
        let counters = self.counters.clone();
        send(&Event::Ready { phase: index, usage: self.usage.clone(), counters })?;
        if self.wait_for_go()? {
            return Ok(true);
        }
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let usage_before = self.usage.clone();
        let outcome = match &phase.work {
            Activity::Evict => self.evict()?,
            Activity::Warmup(drive) | Activity::Measure(drive) => {
                self.drive(index, phase, drive)?
            }
            work => {
                return Err(Error::invalid(format!("fio has no {} phase", work.kind())));
            }
        };
        let role = |drive: &Mix| drive.roles.first().cloned();
        let role = match &phase.work {
            Activity::Warmup(drive) | Activity::Measure(drive) => role(drive),
            _ => None,
        };
        let results = outcome.job.as_ref().zip(role);
        send(&Event::Finished {
            phase: index,
            started_unix_ns: started.map_or(0, |since| since.as_nanos() as u64),
            wall_ns: outcome.wall_ns,
            usage_before,
            usage: self.usage.clone(),
            counters: self.counters.clone(),
            roles: results
                .map(|(job, role)| job.role(&role.name, role.threads))
                .into_iter()
                .collect(),
            verified: None,
            settled: None,
            live_records: Some(self.job.data.records),
            stopped: outcome.stopped,
            failed: None,
            ranks: Vec::new(),
        })?;
        Ok(self.wait_for_go()? || outcome.stopped)
    }

    /// Waits while the program evicts: nothing is open.
    fn evict(&self) -> Result<PhaseResult> {
        let begun = Instant::now();
        send(&Event::Closed { took_ns: 0 })?;
        let stopped = self.wait_for_go()?;
        report_opened()?;
        Ok(PhaseResult { wall_ns: begun.elapsed().as_nanos() as u64, stopped, job: None })
    }

    fn drive(&mut self, index: u32, phase: &Phase, drive: &Mix) -> Result<PhaseResult> {
        let seed = self.job.data.seed ^ (u64::from(self.job.trial) << 32) ^ u64::from(index);
        let arguments = arguments(self.job, drive, seed)?;
        let (start, begun) = (self.begun.elapsed(), Instant::now());
        let report = self.job.dir.join(format!("fio-{}.json", phase.name));
        let mut command = Command::new("fio");
        command.args(&arguments).stdin(Stdio::null()).stdout(File::create_new(&report)?);
        let mut child = child::spawn(command)
            .map_err(|error| Error::from(error).context("starting fio (apt install fio)"))?;
        let stopped = self.watch(&mut child)?;
        let status = child.wait()?;
        let text = std::fs::read_to_string(&report)?;
        let parsed = Report::parse(&text);
        let (job, version) = match parsed {
            Ok(mut report) if report.jobs.len() == 1 => (report.jobs.remove(0), report.version),
            Ok(report) => {
                return Err(fio_error(&format!(
                    "expected one job, found \
                {}",
                    report.jobs.len()
                )));
            }
            Err(first_error) => {
                return Err(fio_error(&format!(
                    "{status}: expected a report, found {first_error}"
                )));
            }
        };
        if job.error != 0 || (!status.success() && !stopped) {
            return Err(fio_error(&format!("{status}, error {}", job.error)));
        }
        self.counters = Counters::from([
            ("fio".to_owned(), Value::Text(version)),
            ("command".to_owned(), Value::Text(format!("fio {}", arguments.join(" ")))),
        ]);
        add(&mut self.usage, &job.usage());
        self.file(phase, drive, &job, start)?;
        Ok(PhaseResult { wall_ns: begun.elapsed().as_nanos() as u64, job: Some(job), stopped })
    }

    /// Waits for fio's end. Passes a stop by the program, or the program's end, on to fio as
    /// SIGINT. Returns whether it did.
    fn watch(&self, child: &mut Child) -> Result<bool> {
        let mut stopped = false;
        while child.try_wait()?.is_none() {
            match self.controls.recv_timeout(LOOK_EVERY) {
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) if !stopped => {
                    stopped = true;
                    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_EVERY),
                _ => {}
            }
        }
        Ok(stopped)
    }

    fn file(&mut self, phase: &Phase, drive: &Mix, job: &fio::Job, start: Duration) -> Result<()> {
        let Some(role) = drive.roles.first() else { return Ok(()) };
        let slice = fio::slice(&phase.name, &[job.role(&role.name, role.threads)]);
        let mut line = serde_json::to_vec(&slice).map_err(io::Error::from)?;
        line.push(b'\n');
        self.series.write_all(&line)?;
        let histograms = job.histograms(&phase.name, &role.name);
        let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
        self.latency
            .write(start, Duration::from_nanos(slice.length_ns), histograms)
            .map_err(|error| Error::new(ErrorClass::Other, error.to_string()))
    }
}

fn fio_error(what: &str) -> Error {
    Error::new(ErrorClass::Other, format!("fio: {what} (see log.txt)"))
}

/// Adds a reading to a sum.
fn add(sum: &mut ProcessUsage, more: &ProcessUsage) {
    sum.user_ns += more.user_ns;
    sum.system_ns += more.system_ns;
    sum.voluntary_switches += more.voluntary_switches;
    sum.minor_faults += more.minor_faults;
    sum.major_faults += more.major_faults;
}
