//! Profiles a case, if it requests that: the functions of its worker and of its server in loads and
//! measured phases. A failure is recorded, and does not affect the case.

use super::environment::CaseEnvironment;
use super::worker::Worker;
use kvdyno_profile::{Profiler, Watch, Watched};
use kvdyno_record::files::CaseDir;
use kvdyno_record::workload::Phase;
use std::io;

/// The watch of a process, or the reason why it cannot be opened; `None`: the case requests no
/// profile.
pub(super) type OpenedWatch = Option<io::Result<Watch>>;

/// Watches a process and its children, if the case requests it. The process must not have started
/// any child.
pub(super) fn watch(
    environment: &CaseEnvironment<'_>,
    worker: &Worker,
    kind: Watched,
) -> OpenedWatch {
    let profiles = environment.case.profile;
    profiles.then(|| Watch::open(&environment.run.root, worker.pid(), kind))
}

/// The profile of one case.
#[derive(Default)]
pub(super) struct ProfileOfCase {
    /// The profiler, until the case ends or sampling fails.
    profiler: Option<Profiler>,
}

impl ProfileOfCase {
    /// Starts the profile, and adds obstacles to `not_measured`.
    pub(super) fn new(
        environment: &CaseEnvironment<'_>,
        opened: [OpenedWatch; 2],
        not_measured: &mut Vec<String>,
    ) -> Self {
        if !environment.case.profile {
            return Self::default();
        }
        if environment.case.server.is_some() {
            let sentence = "profile: functions of an attached server, which runs elsewhere";
            not_measured.push(sentence.to_owned());
        }
        let watches: io::Result<Vec<Watch>> = opened.into_iter().flatten().collect();
        match watches {
            Ok(watches) => {
                let profiler = Profiler::new(&environment.run.root, watches);
                not_measured.extend(profiler.unsampled_functions());
                Self { profiler: Some(profiler) }
            }
            Err(error) => {
                not_measured.push(format!("profile: {error}"));
                Self::default()
            }
        }
    }

    /// Begins a phase with these roles; `None`: the phase is not profiled.
    pub(super) fn begin_phase(
        &mut self,
        phase: &Phase,
        roles: Option<Vec<&str>>,
        not_measured: &mut Vec<String>,
    ) {
        let (Some(profiler), Some(roles)) = (&mut self.profiler, roles) else { return };
        let roles = roles.into_iter().map(str::to_owned).collect();
        let begun = profiler.begin_phase(&phase.name, roles);
        self.note(begun, not_measured);
    }

    /// Reads the samples; to be called several times per second.
    pub(super) fn look(&mut self) {
        if let Some(profiler) = &mut self.profiler {
            profiler.look();
        }
    }

    /// Ends the current phase.
    pub(super) fn end_phase(&mut self, not_measured: &mut Vec<String>) {
        if let Some(profiler) = &mut self.profiler {
            let ended = profiler.end_phase();
            self.note(ended, not_measured);
        }
    }

    /// Names the functions, and stores the profile.
    pub(super) fn end(&mut self, dir: &CaseDir, not_measured: &mut Vec<String>) {
        let Some(file) = self.profiler.take().and_then(Profiler::finish) else { return };
        if let Err(error) = dir.write_profile(&file) {
            not_measured.push(format!("profile: {error}"));
        }
    }

    fn note(&mut self, result: io::Result<()>, not_measured: &mut Vec<String>) {
        if let Err(error) = result {
            not_measured.push(format!("profile: {error}"));
            self.profiler = None;
        }
    }
}
