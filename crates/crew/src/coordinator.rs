//! The coordinator on the first rank: it waits until all ranks have sent a message, and sends it
//! once for all. It moves no message itself: it returns [`Action`]s.

use crate::message::{Order, Report};
use crate::offset::ClockOffset;
use crate::sum;
use kvdyno_engine::{Error, ErrorClass, Location};
use kvdyno_record::PROTOCOL;
use kvdyno_record::case::RoleResult;
use kvdyno_record::crew::{RankId, RankResult};
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{Activity, Phase};

/// The next action.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a few a second; boxes would only be in the way")]
pub enum Action {
    /// Send this event to the program.
    Say(Event),
    /// Give this order to every rank, also to the first.
    Order(Order),
    /// Find out how far the ranks' clocks are apart ([`Coordinator::set_clocks`]).
    Clocks,
    /// Wait until all slices of the phase are in the case's files.
    Gather,
    /// All ranks have ended.
    Over,
}

/// The failure of a worker that does not report its rank: it would do all ranks' work.
const NO_CREW: &str = "its worker does not support crews: build all from one version";

/// The state of the ranks.
pub struct Coordinator {
    job: Job,
    ranks: Vec<Rank>,
    at: Stage,
    /// The event that ends the crew, once all ranks are done with the phase and the program has its
    /// results.
    doomed: Option<Event>,
    failed: bool,
}

/// The stage of the crew.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// At work, in the phase with this number or between phases.
    Work(Option<u32>),
    /// All ranks wait for the go of this phase.
    Ready(u32),
    /// All ranks wait until the program has read the results of this phase.
    Finished(u32),
}

/// The state of one rank.
#[derive(Clone, Debug, Default)]
struct Rank {
    host: String,
    cpus: u32,
    clock: ClockOffset,
    events: Vec<Event>,
    done: u64,
    threads: Option<u32>,
    ended: bool,
}

impl Coordinator {
    /// Creates the coordinator of a number of ranks and a job.
    pub fn new(job: Job, ranks: u32) -> Self {
        let ranks = vec![Rank::default(); ranks as usize];
        Self { job, ranks, at: Stage::Work(None), doomed: None, failed: false }
    }

    /// Processes the report of a rank.
    pub fn receive(&mut self, rank: u32, report: Report) -> Vec<Action> {
        let Some(state) = self.ranks.get_mut(rank as usize) else { return Vec::new() };
        match report {
            Report::Host { name, cpus } => (state.host, state.cpus) = (name, cpus),
            Report::Event { event: mut event @ Event::Progress { .. } } => {
                if let Event::Progress { done, threads, .. } = &mut event {
                    (state.done, state.threads) = (*done, *threads);
                    *done = self.ranks.iter().map(|rank| rank.done).sum();
                    *threads =
                        self.ranks.iter().filter_map(|rank| rank.threads).reduce(|a, b| a + b);
                }
                return Vec::from_iter(self.forward_progress(rank, event));
            }
            Report::Event { event: Event::Failed { phase, class, message, .. } } => {
                return self.fail(rank, phase, class, &message);
            }
            Report::Event { event: event @ Event::Hello { .. } } => {
                if let Some(why) = protocol_mismatch(&event) {
                    return self.fail(rank, None, ErrorClass::Invalid, &why);
                }
                return self.collect(rank, event);
            }
            Report::Event { event: event @ Event::Opened { crew, .. } } => {
                let seat = RankId { rank, ranks: self.ranks.len() as u32 };
                if crew != Some(seat) {
                    return self.fail(rank, None, ErrorClass::Invalid, NO_CREW);
                }
                return self.collect(rank, event);
            }
            Report::Event { event: event @ Event::Finished { .. } } => {
                return [self.cut(rank, &event), self.collect(rank, event)].concat();
            }
            Report::Event { event } => return self.collect(rank, event),
            Report::Lost { class, message } => {
                let phase = match self.at {
                    Stage::Work(phase) => phase,
                    Stage::Ready(phase) | Stage::Finished(phase) => Some(phase),
                };
                return self.fail(rank, phase, class, &message);
            }
            Report::Ended => {
                state.ended = true;
                // Ranks that were stopped end without a go: their slices are still to be gathered.
                let gathered = !matches!(self.at, Stage::Finished(_));
                return Vec::from_iter(
                    (gathered && self.all_ranks_ended()).then_some(Action::Over),
                );
            }
        }
        Vec::new()
    }

    /// Forwards the progress of all with the messages of one rank: the others send as many. It is
    /// the first rank that still works.
    fn forward_progress(&self, rank: u32, mut event: Event) -> Option<Action> {
        let finished = |state: &Rank| {
            state.events.iter().find_map(|event| match event {
                Event::Finished { started_unix_ns, .. } => Some(*started_unix_ns),
                _ => None,
            })
        };
        let first = self.ranks.iter().position(|state| finished(state).is_none());
        if first != Some(rank as usize) {
            return None;
        }
        if let Event::Progress { started_unix_ns, .. } = &mut event {
            // The phase began with the first rank, whose clock the program has.
            *started_unix_ns = self.ranks.first().and_then(finished).unwrap_or(*started_unix_ns);
        }
        Some(Action::Say(event))
    }

    /// Processes a message of the program.
    pub fn control(&mut self, control: Control) -> Vec<Action> {
        match (control, self.at.clone()) {
            (Control::Stop, _) => vec![Action::Order(Order::Stop)],
            (Control::Go, Stage::Ready(phase)) => {
                self.at = Stage::Work(Some(phase));
                let phase = self.phase(phase).map_or(String::new(), |phase| phase.name.clone());
                vec![Action::Order(Order::GoTogether { phase })]
            }
            (Control::Go, Stage::Finished(_)) => {
                self.at = Stage::Work(None);
                match self.doomed.take() {
                    Some(event) => [vec![Action::Gather], self.end(event)].concat(),
                    None if self.all_ranks_ended() => vec![Action::Gather, Action::Over],
                    None => vec![Action::Gather, Action::Order(Order::Go)],
                }
            }
            (Control::Go, Stage::Work(_)) => vec![Action::Order(Order::Go)],
        }
    }

    /// Processes the result of [`Action::Clocks`], for each rank.
    pub fn set_clocks(&mut self, clocks: impl IntoIterator<Item = ClockOffset>) {
        for (rank, clock) in self.ranks.iter_mut().zip(clocks) {
            rank.clock = clock;
        }
    }

    /// Ends the crew for something that happened to a rank.
    pub fn fail(
        &mut self,
        rank: u32,
        phase: Option<u32>,
        class: ErrorClass,
        message: &str,
    ) -> Vec<Action> {
        let event = self.failure(rank, phase, class, message);
        self.end(event)
    }

    fn failure(&self, rank: u32, phase: Option<u32>, class: ErrorClass, message: &str) -> Event {
        let host = self.ranks.get(rank as usize).map_or("", |rank| rank.host.as_str());
        let message = format!("rank {rank} of {} ({host}): {message}", self.ranks.len());
        Event::from_error(phase, &Error::new(class, message))
    }

    /// Ends a phase for all ranks if one fails in it. The others stop at once and keep their
    /// results, as the threads of one worker do.
    fn cut(&mut self, rank: u32, finished: &Event) -> Vec<Action> {
        let Event::Finished { phase, failed: Some((class, message)), .. } = finished else {
            return Vec::new();
        };
        if self.doomed.is_some() {
            return Vec::new();
        }
        self.doomed = Some(self.failure(rank, Some(*phase), *class, message));
        vec![Action::Order(Order::Cut)]
    }

    /// Whether a rank has failed in the phase, and others have not ended it yet.
    pub fn is_doomed(&self) -> bool {
        self.doomed.is_some() && matches!(self.at, Stage::Work(_))
    }

    /// Ends the crew for that failure, without waiting for the others.
    pub fn give_up(&mut self) -> Vec<Action> {
        self.doomed.take().map_or_else(Vec::new, |event| self.end(event))
    }

    /// Ends the crew with a failure. Only the first failure is reported: others follow from it.
    fn end(&mut self, event: Event) -> Vec<Action> {
        if std::mem::replace(&mut self.failed, true) {
            return Vec::new();
        }
        vec![Action::Say(event), Action::Order(Order::End), Action::Over]
    }

    fn all_ranks_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ended)
    }

    fn phase(&self, phase: u32) -> Option<&Phase> {
        self.job.phases.get(phase as usize)
    }

    /// Keeps a rank's event until all have sent one of its kind.
    fn collect(&mut self, rank: u32, event: Event) -> Vec<Action> {
        let like = |other: &Event| {
            let is_same_kind = std::mem::discriminant(other) == std::mem::discriminant(&event);
            is_same_kind && event_phase(other) == event_phase(&event)
        };
        let all = |state: &Rank| state.events.iter().any(like);
        let others = || self.ranks.iter().enumerate().filter(|(other, _)| *other != rank as usize);
        if !others().all(|(_, state)| all(state)) {
            self.ranks[rank as usize].events.push(event);
            return Vec::new();
        }
        let mut events: Vec<Event> = Vec::new();
        for (index, state) in self.ranks.iter_mut().enumerate() {
            match state.events.iter().position(like) {
                Some(position) if index != rank as usize => {
                    events.push(state.events.remove(position));
                }
                _ => events.push(event.clone()),
            }
        }
        self.merge_events(events)
    }

    /// Merges events of one kind from every rank, in the order of ranks.
    fn merge_events(&mut self, events: Vec<Event>) -> Vec<Action> {
        let longest = |figure: fn(&Event) -> u64| events.iter().map(figure).max().unwrap_or(0);
        let took = |event: &Event| match event {
            Event::Opened { took_ns, .. } | Event::Closed { took_ns } => *took_ns,
            _ => 0,
        };
        match events.first() {
            Some(Event::Hello { .. }) => vec![Action::Say(self.merge_hellos(&events))],
            Some(Event::Opened { .. }) => {
                vec![Action::Say(Event::Opened { took_ns: longest(took), crew: None })]
            }
            Some(Event::Closed { .. }) => {
                vec![Action::Say(Event::Closed { took_ns: longest(took) })]
            }
            Some(Event::Ready { phase, .. }) => {
                self.at = Stage::Ready(*phase);
                self.ranks.iter_mut().for_each(|rank| rank.done = 0);
                let ready = self.merge_ready(*phase, events);
                vec![Action::Clocks, Action::Say(ready)]
            }
            Some(Event::Finished { phase, .. }) => {
                let phase = *phase;
                vec![Action::Say(self.merge_finished(phase, events))]
            }
            Some(Event::Done { .. }) => {
                let drifts = events.iter().filter_map(|event| match event {
                    Event::Done { drift_ppm } => *drift_ppm,
                    _ => None,
                });
                let drift_ppm = drifts.max_by(|one, other| one.abs().total_cmp(&other.abs()));
                vec![Action::Say(Event::Done { drift_ppm })]
            }
            _ => self.fail(0, None, ErrorClass::Other, "the workers sent messages of supervisors"),
        }
    }

    /// Merges the ranks' greetings. The clock is the first rank's; a note names the ranks with
    /// another kind of clock.
    fn merge_hellos(&self, events: &[Event]) -> Event {
        let fields = |event: &Event| match event {
            Event::Hello { clock, clock_hz, clock_note, .. } => {
                (clock.clone(), *clock_hz, clock_note.clone())
            }
            _ => (String::new(), 0.0, String::new()),
        };
        let (kind, clock_hz, mut note) = events.first().map(fields).unwrap_or_default();
        for (rank, event) in events.iter().enumerate() {
            let (other, _, why) = fields(event);
            if other != kind {
                let host = &self.ranks[rank].host;
                note += &format!("; rank {rank} ({host}): {other} {why}");
            }
        }
        let clock_note = note.trim_start_matches("; ").to_owned();
        Event::Hello { protocol: PROTOCOL, clock: kind, clock_hz, clock_note }
    }

    fn has_one_server(&self) -> bool {
        matches!(self.job.location, Location::Server(_))
    }

    fn merge_ready(&self, phase: u32, events: Vec<Event>) -> Event {
        let (mut usages, mut counters) = (Vec::new(), Vec::new());
        for event in events {
            if let Event::Ready { usage, counters: read, .. } = event {
                usages.push(usage);
                counters.push(read);
            }
        }
        let counters = sum::counters(counters, self.has_one_server());
        Event::Ready { phase, usage: sum::usage(&usages), counters }
    }

    fn merge_finished(&mut self, phase: u32, events: Vec<Event>) -> Event {
        let (mut before, mut after, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        let (mut roles, mut verified, mut settled) = (Vec::new(), Vec::new(), None);
        let (mut started, mut longest, mut any_stopped) = (None, 0, false);
        let (mut ranks, mut live_records) = (Vec::new(), Vec::new());
        for (rank, event) in (0..).zip(events) {
            let Event::Finished {
                started_unix_ns,
                wall_ns,
                usage_before,
                usage,
                counters: read,
                roles: rank_roles,
                verified: checked,
                settled: idle,
                live_records: live,
                stopped,
                ..
            } = event
            else {
                continue;
            };
            let began = *started.get_or_insert(started_unix_ns);
            let row = self.row(rank, (phase, began, started_unix_ns), &rank_roles);
            ranks.push(RankResult {
                cpu_ns: cpu_ns(&usage).saturating_sub(cpu_ns(&usage_before)),
                ..row
            });
            (longest, any_stopped) = (wall_ns.max(longest), any_stopped || stopped);
            before.push(usage_before);
            after.push(usage);
            counters.push(read);
            roles.push(rank_roles);
            verified.extend(checked);
            settled = merge_settled(settled, idle);
            live_records.push(live);
        }
        let started_unix_ns = started.unwrap_or(0);
        self.at = Stage::Finished(phase);
        self.doomed = self.doomed.take().or_else(|| self.find_mistake(phase, &ranks, &roles));
        Event::Finished {
            phase,
            started_unix_ns,
            wall_ns: longest,
            usage_before: sum::usage(&before),
            usage: sum::usage(&after),
            counters: sum::counters(counters, self.has_one_server()),
            roles: sum::roles(roles),
            verified: sum::verified(verified),
            settled,
            live_records: live_records.into_iter().sum(),
            stopped: any_stopped,
            failed: None,
            ranks: if self.has_operations(phase) { ranks } else { Vec::new() },
        }
    }

    /// Whether the threads of a phase perform operations.
    fn has_operations(&self, phase: u32) -> bool {
        let makes = |work: &Activity| matches!(work, Activity::Load(_)) || work.mix().is_some();
        self.phase(phase).is_some_and(|phase| makes(&phase.work))
    }

    /// The row of a rank in a phase; `first` is when the first rank began.
    fn row(
        &self,
        rank: u32,
        (phase, first, started): (u32, u64, u64),
        roles: &[RoleResult],
    ) -> RankResult {
        let state = &self.ranks[rank as usize];
        let ops = || roles.iter().flat_map(|role| role.ops.values());
        let loads = self.phase(phase).is_some_and(|one| matches!(one.work, Activity::Load(_)));
        RankResult {
            rank,
            host: state.host.clone(),
            cpus: state.cpus,
            threads: roles.iter().map(|role| role.threads).sum(),
            operations: ops().map(|op| if loads { op.items } else { op.count }).sum(),
            errors: ops().flat_map(|op| op.errors.values()).sum(),
            backlog: roles.iter().map(|role| role.backlog).sum(),
            window_ns: roles.iter().map(|role| role.window_ns).max().unwrap_or(0),
            cpu_ns: 0,
            skew_ns: state.clock.to_local(started) as i64 - first as i64,
            clock_offset_ns: state.clock.ahead_ns,
            clock_error_ns: state.clock.error_ns,
        }
    }

    /// Makes the checks that no rank can make alone; returns a failure.
    fn find_mistake(
        &self,
        phase: u32,
        ranks: &[RankResult],
        roles: &[Vec<RoleResult>],
    ) -> Option<Event> {
        let work = &self.phase(phase)?.work;
        let planned: Vec<u32> = match work {
            Activity::Load(load) => vec![load.threads],
            work => work.mix()?.roles.iter().map(|role| role.threads).collect(),
        };
        let all = self.ranks.len() as u32;
        for (row, roles) in ranks.iter().zip(roles) {
            let seat = RankId { rank: row.rank, ranks: all };
            let expected = planned.iter().map(|threads| seat.threads(*threads).len() as u32);
            if !roles.iter().map(|role| role.threads).eq(expected) {
                let (rank, host) = (row.rank, &row.host);
                let message = format!(
                    "rank {rank} of {all} ({host}): the worker had other threads than its share: \
                     build all from one version"
                );
                return Some(Event::from_error(
                    Some(phase),
                    &Error::new(ErrorClass::Invalid, message),
                ));
            }
        }
        let errors: u64 = ranks.iter().map(|row| row.errors).sum();
        let most = self.job.errors_max;
        if matches!(work, Activity::Load(_)) || errors <= most {
            return None;
        }
        let message = format!("{errors} operations of all ranks failed, expected at most {most}");
        Some(Event::from_error(Some(phase), &Error::new(ErrorClass::Other, message)))
    }
}

fn event_phase(event: &Event) -> Option<u32> {
    match event {
        Event::Ready { phase, .. } | Event::Finished { phase, .. } => Some(*phase),
        _ => None,
    }
}

fn cpu_ns(usage: &ProcessUsage) -> u64 {
    usage.user_ns + usage.system_ns
}

fn protocol_mismatch(event: &Event) -> Option<String> {
    let Event::Hello { protocol, .. } = event else { return None };
    let why = format!("its worker has protocol {protocol}, this crew {PROTOCOL}");
    (*protocol != PROTOCOL).then_some(why)
}

/// The engine has settled when all ranks report it; the message is that of one that does not.
fn merge_settled(
    one: Option<(bool, String)>,
    other: Option<(bool, String)>,
) -> Option<(bool, String)> {
    match (one, other) {
        (Some((true, _)), Some(other)) => Some(other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
pub(crate) mod tests;
