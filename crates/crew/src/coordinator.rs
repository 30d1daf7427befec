//! The first rank's head: it waits until all ranks have said something, and says it once for all.
//! It moves no message itself: what is to be done comes out as [`Action`]s.

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

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a few a second; boxes would only be in the way")]
pub enum Action {
    /// Say it to the program.
    Say(Event),
    /// Give it to every rank, the first among them.
    Order(Order),
    /// Find out how far the ranks' clocks are apart ([`Coordinator::clocks_are`]).
    Clocks,
    /// Wait until all slices of the phase are in the case's files.
    Gather,
    /// All ranks have ended.
    Over,
}

/// A worker that does not say where its place is would do all ranks' work.
const NO_CREW: &str = "its worker knows of no crew: build all from one version";

/// What is known of the ranks.
pub struct Coordinator {
    job: Job,
    ranks: Vec<Rank>,
    at: At,
    /// Why the crew ends once all ranks are done with the phase and the program has heard of it.
    doomed: Option<Event>,
    failed: bool,
}

/// Where the crew stands.
#[derive(Clone, Debug, PartialEq)]
enum At {
    /// On its way to the next thing.
    Work(Option<u32>),
    /// All wait for the phase's go.
    Ready(u32),
    /// All wait for the program to have read what the phase did.
    Finished(u32),
}

/// The last that was heard of one.
#[derive(Clone, Debug, Default)]
struct Rank {
    host: String,
    cpus: u32,
    clock: ClockOffset,
    said: Vec<Event>,
    done: u64,
    threads: Option<u32>,
    ended: bool,
}

impl Coordinator {
    /// Of so many ranks, who are to do this.
    pub fn new(job: Job, ranks: u32) -> Self {
        let ranks = vec![Rank::default(); ranks as usize];
        Self { job, ranks, at: At::Work(None), doomed: None, failed: false }
    }

    /// Takes in what a rank reports.
    pub fn receive(&mut self, rank: u32, report: Report) -> Vec<Action> {
        let Some(known) = self.ranks.get_mut(rank as usize) else { return Vec::new() };
        match report {
            Report::Host { name, cpus } => (known.host, known.cpus) = (name, cpus),
            Report::Event { event: mut event @ Event::Progress { .. } } => {
                if let Event::Progress { done, threads, .. } = &mut event {
                    (known.done, known.threads) = (*done, *threads);
                    *done = self.ranks.iter().map(|rank| rank.done).sum();
                    *threads =
                        self.ranks.iter().filter_map(|rank| rank.threads).reduce(|a, b| a + b);
                }
                // By the first rank's beat: the others' are as many.
                return Vec::from_iter((rank == 0).then_some(Action::Say(event)));
            }
            Report::Event { event: Event::Failed { phase, class, message } } => {
                return self.fail(rank, phase, class, &message);
            }
            Report::Event { event: event @ Event::Hello { .. } } => {
                if let Some(why) = other_protocol(&event) {
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
                    At::Work(phase) => phase,
                    At::Ready(phase) | At::Finished(phase) => Some(phase),
                };
                return self.fail(rank, phase, class, &message);
            }
            Report::Ended => {
                known.ended = true;
                // Ranks that were stopped end without a go: their slices are still to be gathered.
                let gathered = !matches!(self.at, At::Finished(_));
                return Vec::from_iter((gathered && self.all_ended()).then_some(Action::Over));
            }
        }
        Vec::new()
    }

    /// Takes in what the program says.
    pub fn control(&mut self, control: Control) -> Vec<Action> {
        match (control, self.at.clone()) {
            (Control::Stop, _) => vec![Action::Order(Order::Stop)],
            (Control::Go, At::Ready(phase)) => {
                self.at = At::Work(Some(phase));
                let phase = self.phase(phase).map_or(String::new(), |phase| phase.name.clone());
                vec![Action::Order(Order::GoTogether { phase })]
            }
            (Control::Go, At::Finished(_)) => {
                self.at = At::Work(None);
                match self.doomed.take() {
                    Some(event) => [vec![Action::Gather], self.end(event)].concat(),
                    None if self.all_ended() => vec![Action::Gather, Action::Over],
                    None => vec![Action::Gather, Action::Order(Order::Go)],
                }
            }
            (Control::Go, At::Work(_)) => vec![Action::Order(Order::Go)],
        }
    }

    /// What came of [`Action::Clocks`], for each rank.
    pub fn clocks_are(&mut self, clocks: impl IntoIterator<Item = ClockOffset>) {
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
        Event::failed(phase, &Error::new(class, message))
    }

    /// A rank that fails in a phase ends it for all: the others are told at once, and keep what
    /// they have done up to there, as the threads of one worker do.
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

    /// A rank has failed in the phase, and others do not come to its end though they were told.
    pub fn is_doomed(&self) -> bool {
        self.doomed.is_some() && matches!(self.at, At::Work(_))
    }

    /// Ends the crew for what has failed, without them.
    pub fn give_up(&mut self) -> Vec<Action> {
        self.doomed.take().map_or_else(Vec::new, |event| self.end(event))
    }

    /// Of several failures the first is told: the others follow from it.
    fn end(&mut self, event: Event) -> Vec<Action> {
        if std::mem::replace(&mut self.failed, true) {
            return Vec::new();
        }
        vec![Action::Say(event), Action::Order(Order::End), Action::Over]
    }

    fn all_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ended)
    }

    fn phase(&self, phase: u32) -> Option<&Phase> {
        self.job.phases.get(phase as usize)
    }

    /// Keeps what a rank has said until all have said the like.
    fn collect(&mut self, rank: u32, event: Event) -> Vec<Action> {
        let like = |other: &Event| {
            let same = std::mem::discriminant(other) == std::mem::discriminant(&event);
            same && phase_of(other) == phase_of(&event)
        };
        let all = |known: &Rank| known.said.iter().any(like);
        let others = || self.ranks.iter().enumerate().filter(|(other, _)| *other != rank as usize);
        if !others().all(|(_, known)| all(known)) {
            self.ranks[rank as usize].said.push(event);
            return Vec::new();
        }
        let mut events: Vec<Event> = Vec::new();
        for (at, known) in self.ranks.iter_mut().enumerate() {
            match known.said.iter().position(like) {
                Some(place) if at != rank as usize => events.push(known.said.remove(place)),
                _ => events.push(event.clone()),
            }
        }
        self.all_said(events)
    }

    /// The like from every rank, in their order.
    fn all_said(&mut self, events: Vec<Event>) -> Vec<Action> {
        let longest = |of: fn(&Event) -> u64| events.iter().map(of).max().unwrap_or(0);
        let took = |event: &Event| match event {
            Event::Opened { took_ns, .. } | Event::Closed { took_ns } => *took_ns,
            _ => 0,
        };
        match events.first() {
            Some(Event::Hello { .. }) => vec![Action::Say(self.hello(&events))],
            Some(Event::Opened { .. }) => {
                vec![Action::Say(Event::Opened { took_ns: longest(took), crew: None })]
            }
            Some(Event::Closed { .. }) => {
                vec![Action::Say(Event::Closed { took_ns: longest(took) })]
            }
            Some(Event::Ready { phase, .. }) => {
                self.at = At::Ready(*phase);
                self.ranks.iter_mut().for_each(|rank| rank.done = 0);
                let ready = self.ready(*phase, events);
                vec![Action::Clocks, Action::Say(ready)]
            }
            Some(Event::Finished { phase, .. }) => {
                let phase = *phase;
                vec![Action::Say(self.finished(phase, events))]
            }
            Some(Event::Done { .. }) => {
                let drifts = events.iter().filter_map(|event| match event {
                    Event::Done { drift_ppm } => *drift_ppm,
                    _ => None,
                });
                let drift_ppm = drifts.max_by(|one, other| one.abs().total_cmp(&other.abs()));
                vec![Action::Say(Event::Done { drift_ppm })]
            }
            _ => self.fail(0, None, ErrorClass::Other, "the workers spoke as supervisors"),
        }
    }

    /// One clock is told: the first rank's, and of the others what is not as it.
    fn hello(&self, events: &[Event]) -> Event {
        let told = |event: &Event| match event {
            Event::Hello { clock, clock_hz, clock_note, .. } => {
                (clock.clone(), *clock_hz, clock_note.clone())
            }
            _ => (String::new(), 0.0, String::new()),
        };
        let (kind, clock_hz, mut note) = events.first().map(told).unwrap_or_default();
        for (rank, event) in events.iter().enumerate() {
            let (other, _, why) = told(event);
            if other != kind {
                let host = &self.ranks[rank].host;
                note += &format!("; rank {rank} ({host}): {other} {why}");
            }
        }
        let clock_note = note.trim_start_matches("; ").to_owned();
        Event::Hello { protocol: PROTOCOL, clock: kind, clock_hz, clock_note }
    }

    fn one_server(&self) -> bool {
        matches!(self.job.place, Location::Server(_))
    }

    fn ready(&self, phase: u32, events: Vec<Event>) -> Event {
        let (mut usages, mut counters) = (Vec::new(), Vec::new());
        for event in events {
            if let Event::Ready { usage, counters: read, .. } = event {
                usages.push(usage);
                counters.push(read);
            }
        }
        let counters = sum::counters(counters, self.one_server());
        Event::Ready { phase, usage: sum::usage(&usages), counters }
    }

    fn finished(&mut self, phase: u32, events: Vec<Event>) -> Event {
        let (mut before, mut after, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        let (mut roles, mut verified, mut settled) = (Vec::new(), Vec::new(), None);
        let (mut started, mut longest, mut any_stopped) = (None, 0, false);
        let mut ranks = Vec::new();
        for (rank, event) in (0..).zip(events) {
            let Event::Finished {
                started_unix_ns,
                wall_ns,
                usage_before,
                usage,
                counters: read,
                roles: own,
                verified: checked,
                settled: idle,
                stopped,
                ..
            } = event
            else {
                continue;
            };
            let began = *started.get_or_insert(started_unix_ns);
            let row = self.row(rank, (phase, began, started_unix_ns), &own);
            ranks.push(RankResult {
                cpu_ns: cpu_ns(&usage).saturating_sub(cpu_ns(&usage_before)),
                ..row
            });
            (longest, any_stopped) = (wall_ns.max(longest), any_stopped || stopped);
            before.push(usage_before);
            after.push(usage);
            counters.push(read);
            roles.push(own);
            verified.extend(checked);
            settled = both_settled(settled, idle);
        }
        let started_unix_ns = started.unwrap_or(0);
        self.at = At::Finished(phase);
        self.doomed = self.doomed.take().or_else(|| self.mistake(phase, &ranks, &roles));
        Event::Finished {
            phase,
            started_unix_ns,
            wall_ns: longest,
            usage_before: sum::usage(&before),
            usage: sum::usage(&after),
            counters: sum::counters(counters, self.one_server()),
            roles: sum::roles(roles),
            verified: sum::verified(verified),
            settled,
            stopped: any_stopped,
            failed: None,
            ranks: if self.works(phase) { ranks } else { Vec::new() },
        }
    }

    /// Its threads make operations.
    fn works(&self, phase: u32) -> bool {
        let work = self.phase(phase).map(|phase| &phase.work);
        matches!(work, Some(Activity::Load(_) | Activity::Warmup(_) | Activity::Measure(_)))
    }

    /// What a rank did in a phase; `first` is when the first began.
    fn row(
        &self,
        rank: u32,
        (phase, first, started): (u32, u64, u64),
        roles: &[RoleResult],
    ) -> RankResult {
        let known = &self.ranks[rank as usize];
        let ops = || roles.iter().flat_map(|role| role.ops.values());
        let loads = self.phase(phase).is_some_and(|one| matches!(one.work, Activity::Load(_)));
        RankResult {
            rank,
            host: known.host.clone(),
            cpus: known.cpus,
            threads: roles.iter().map(|role| role.threads).sum(),
            operations: ops().map(|op| if loads { op.items } else { op.count }).sum(),
            errors: ops().flat_map(|op| op.errors.values()).sum(),
            backlog: roles.iter().map(|role| role.backlog).sum(),
            window_ns: roles.iter().map(|role| role.window_ns).max().unwrap_or(0),
            cpu_ns: 0,
            skew_ns: known.clock.here(started) as i64 - first as i64,
            clock_offset_ns: known.clock.ahead_ns,
            clock_error_ns: known.clock.error_ns,
        }
    }

    /// What no rank can see by itself.
    fn mistake(
        &self,
        phase: u32,
        ranks: &[RankResult],
        roles: &[Vec<RoleResult>],
    ) -> Option<Event> {
        let work = &self.phase(phase)?.work;
        let planned: Vec<u32> = match work {
            Activity::Load(load) => vec![load.threads],
            Activity::Warmup(mix) | Activity::Measure(mix) => {
                mix.roles.iter().map(|role| role.threads).collect()
            }
            _ => return None,
        };
        let all = self.ranks.len() as u32;
        for (row, roles) in ranks.iter().zip(roles) {
            let seat = RankId { rank: row.rank, ranks: all };
            let expected = planned.iter().map(|threads| seat.threads(*threads).len() as u32);
            if !roles.iter().map(|role| role.threads).eq(expected) {
                let (rank, host) = (row.rank, &row.host);
                let message = format!(
                    "rank {rank} of {all} ({host}): the worker had other threads than its share, \
                     and so knows of no crew: build all from one version"
                );
                return Some(Event::failed(Some(phase), &Error::new(ErrorClass::Invalid, message)));
            }
        }
        let errors: u64 = ranks.iter().map(|row| row.errors).sum();
        let most = self.job.errors_max;
        if matches!(work, Activity::Load(_)) || errors <= most {
            return None;
        }
        let message = format!("{errors} operations of all ranks failed, more than {most}");
        Some(Event::failed(Some(phase), &Error::new(ErrorClass::Other, message)))
    }
}

fn phase_of(event: &Event) -> Option<u32> {
    match event {
        Event::Ready { phase, .. } | Event::Finished { phase, .. } => Some(*phase),
        _ => None,
    }
}

fn cpu_ns(usage: &ProcessUsage) -> u64 {
    usage.user_ns + usage.system_ns
}

fn other_protocol(event: &Event) -> Option<String> {
    let Event::Hello { protocol, .. } = event else { return None };
    let why = format!("its worker speaks protocol {protocol}, this crew {PROTOCOL}");
    (*protocol != PROTOCOL).then_some(why)
}

/// The engine has come to rest when all say so; the words are those of one that does not.
fn both_settled(
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
