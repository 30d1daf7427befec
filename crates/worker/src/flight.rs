//! The loop of a role that keeps operations in flight: each thread fills its depth, sends the
//! operations, takes the answers that have arrived, and fills again.
//!
//! The clock is read three times per round and once per block, whatever the number of operations in
//! them. An operation begins when the answers of the previous round have been filed, or its block
//! has been prepared. It is sent with its round (`submit`), and ends when all answers of its round
//! have been looked at (`completion`): the parts sum up to its service time. Time that a thread
//! spends on preparing and filing counts in the operations that it has in flight, because it cannot
//! look at their answers. The loop that waits for each operation is `calls`.
//!
//! An operation that met a conflict is sent again with the next round, as the same operation: its
//! time goes on.

use crate::block::Step;
use crate::clock::Clock;
use crate::hot::RETRIES_MAX;
use crate::keyed::{Action, KeyedBlock, KeyedStep, Thread, View};
use crate::keyvalue::perform;
use crate::kind::Supply;
use crate::missing::MissingKeys;
use crate::recorder::Recorder;
use crate::recording::note_together;
use crate::shared::ThreadContext;
use crate::source::Source;
use crate::tally::{OVER, Tally};
use crate::values::{fetch, is_sound};
use kvdyno_engine::{Error, ErrorClass, Result, Session};
use retry::{RetryBuffers, submit_put};
use std::hint::black_box;
use std::time::Duration;

mod retry;

/// The most operations prepared in one go: while they are prepared nothing is sent.
const BLOCK_STEPS_MAX: usize = 32;

/// The operations of one thread that are under way.
struct Flight<'p> {
    /// The operations by ticket.
    slots: Vec<InFlight>,
    free: Vec<u32>,
    /// The tickets of operations that the engine has accepted and that are not sent yet.
    tickets_shown: Vec<u32>,
    /// The answers of one round.
    landed: Vec<(u32, Result<Completion>)>,
    again: RetryBuffers,
    /// Keys of inserts that failed.
    lost: Vec<u64>,
    missing: Option<&'p MissingKeys>,
    /// The end of the last round, or of what was filed or prepared since, in ticks.
    now: u64,
    sink: u64,
}

/// An operation until its answer.
#[derive(Clone, Copy, Default)]
struct InFlight {
    tally: u8,
    reads: bool,
    inserts: bool,
    retries: u16,
    key_bytes: u32,
    /// The number of its key; for a request to a drive, the offset.
    number: u64,
    /// The length of a request to a drive; 1 for a key, which takes up its number alone.
    length: u64,
    write_bytes: u64,
    /// The time to live of the record that it writes; none: the record stays.
    ttl: Option<Duration>,
    start: u64,
    sent: u64,
    busy: bool,
}

/// Operations of one round that were begun and sent together, as most are: they share one time.
#[derive(Default)]
struct SharedOutcome {
    tally: u8,
    start: u64,
    sent: u64,
    count: u64,
}

/// The result of an answer.
struct Completion {
    missing: bool,
    wrong: bool,
    /// The length of the value; none: there is no value.
    value_bytes: Option<u64>,
}

/// Keeps `depth` operations in flight until there is no more to do or no more time.
pub(crate) fn drive<S: Session, C: Clock>(
    mut context: ThreadContext<'_, Thread<S>, C>,
    source: &mut Source<'_>,
    mut block: KeyedBlock,
    depth: u32,
) -> Recorder {
    let shared = context.shared;
    let again = RetryBuffers::new(source.supply(), context.thread);
    let now = context.clock.ticks();
    let mut flight = Flight { missing: source.missing(), ..Flight::new(depth, again, now) };
    let steps_max = source.steps_max().min(BLOCK_STEPS_MAX);
    let mut prepared = !block.steps.is_empty();
    while context.recorder.edge != OVER && !shared.is_over() {
        if !prepared {
            // Operations in flight must not wait for a block that is not there yet.
            if !flight.is_empty() && !source.is_ready() {
                if let Err(error) = flight.run_round(&mut context) {
                    shared.fail(error);
                    return context.recorder;
                }
                continue;
            }
            let reserved = shared.reserve(context.role, steps_max);
            if reserved == 0 || !source.fill(&mut block, reserved) {
                break;
            }
        }
        prepared = false;
        // Preparing is not part of any operation's time.
        flight.now = context.clock.ticks();
        let outcome = flight.submit_block(&mut context, source, &block);
        context.publish_progress();
        match outcome {
            Ok(begun) => flight.settle(source, &block, begun),
            Err(error) => {
                // After an error of the session there is nothing to wait for.
                shared.fail(error);
                return context.recorder;
            }
        }
    }
    // Operations begun in time are completed, and the window reaches to the end of the last.
    while !flight.is_empty() {
        if let Err(error) = flight.run_round(&mut context) {
            shared.fail(error);
            return context.recorder;
        }
    }
    // A block that is still prepared was never begun: the phase was over before it.
    flight.settle(source, &block, if prepared { 0 } else { block.steps.len() });
    black_box(flight.sink);
    context.recorder
}

impl Flight<'_> {
    fn new(depth: u32, again: RetryBuffers, now: u64) -> Self {
        Self {
            slots: vec![InFlight::default(); depth as usize],
            free: (0..depth).rev().collect(),
            tickets_shown: Vec::with_capacity(depth as usize),
            landed: Vec::with_capacity(depth as usize),
            again,
            lost: Vec::new(),
            missing: None,
            now,
            sink: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Submits every step of the block, with a round whenever the depth is filled. Returns how many
    /// were begun.
    fn submit_block<S: Session, C: Clock>(
        &mut self,
        context: &mut ThreadContext<'_, Thread<S>, C>,
        source: &Source<'_>,
        block: &KeyedBlock,
    ) -> Result<usize> {
        let (view, ordered) = (source.view(block, context.task), source.is_ordered());
        // The steps from here on begin together.
        let mut first = 0;
        for (index, step) in block.steps.iter().enumerate() {
            let inserts = source.inserts(step.slot);
            let request = InFlight { inserts, ..InFlight::new(step, &view) };
            let alone = matches!(step.action.action, Action::Flush | Action::Discard);
            let full =
                |flight: &Self| flight.free.is_empty() || ordered && flight.must_wait(&request);
            let waits = |flight: &Self| if alone { !flight.is_empty() } else { full(flight) };
            if waits(self) {
                let began = self.now;
                while waits(self) {
                    self.run_round(context)?;
                }
                note(context, &block.steps[first..index], &view, began)?;
                first = index;
                // Filing is not part of the operations that begin now.
                self.now = context.clock.ticks();
            }
            if context.recorder.edge == OVER || context.shared.is_over() {
                note(context, &block.steps[first..index], &view, self.now)?;
                return Ok(index);
            }
            if alone {
                self.perform_alone(context, step, &view);
            } else {
                self.submit(&mut context.handle.session, step, request, &view)?;
            }
        }
        // Accepted operations do not wait until the next block is prepared.
        let began = self.now;
        self.hand_over(context)?;
        note(context, &block.steps[first..], &view, began)?;
        Ok(block.steps.len())
    }

    /// Settles inserts: new keys exist once they are answered, and keys of steps that were not
    /// begun are free again.
    fn settle(&mut self, source: &mut Source<'_>, block: &KeyedBlock, begun: usize) {
        let not_begun = block.steps[begun..].iter().filter(|step| source.inserts(step.slot));
        let not_begun = not_begun.map(|step| block.data.numbers[step.action.first as usize]);
        self.lost.extend(not_begun);
        let under_way = self.slots.iter().filter(|slot| slot.busy && slot.inserts);
        source.settle_in_flight(under_way.map(|slot| slot.number), self.lost.drain(..));
    }

    /// Whether `request` must wait for another in flight: both are for the same bytes, and one
    /// writes.
    fn must_wait(&self, request: &InFlight) -> bool {
        let in_flight = self.slots.iter().filter(|slot| slot.busy);
        in_flight.filter(|slot| !(slot.reads && request.reads)).any(|slot| {
            slot.number < request.number.saturating_add(request.length)
                && request.number < slot.number.saturating_add(slot.length)
        })
    }

    /// Performs a step that concerns all operations answered before it. Nothing else is in flight
    /// meanwhile.
    fn perform_alone<S: Session, C: Clock>(
        &mut self,
        context: &mut ThreadContext<'_, Thread<S>, C>,
        step: &Step<KeyedStep>,
        view: &View<'_>,
    ) {
        let ThreadContext { handle, clock, recorder, .. } = &mut *context;
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        let done = perform(handle, &step.action, view, tally, &mut self.sink);
        let end = clock.ticks();
        recorder.last_end = clock.time(end);
        if recorder.edge != OVER && recorder.last_end >= recorder.edge {
            recorder.edge = recorder.time.cross(recorder.last_end, &mut recorder.tallies);
        }
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        match done {
            Ok(()) => {
                tally.count += 1;
                tally.record_in_flight(0, clock.ns(end.saturating_sub(self.now)), 1);
            }
            Err(error) => {
                tally.error(error.class);
                context.shared.judge(error, context.task.errors_max);
            }
        }
        self.now = end;
    }

    fn submit<S: Session>(
        &mut self,
        session: &mut S,
        Step { action: step, .. }: &Step<KeyedStep>,
        request: InFlight,
        view: &View<'_>,
    ) -> Result<()> {
        let Some(ticket) = self.free.pop() else { return Ok(()) };
        self.slots[ticket as usize] =
            InFlight { start: self.now, sent: self.now, busy: true, ..request };
        self.tickets_shown.push(ticket);
        let (offset, bytes) = (request.number, request.length);
        match step.action {
            Action::Get => session.submit_get(ticket, view.key(step.first)),
            Action::Put | Action::PutExpiring => {
                let (key, value) = (view.key(step.first), view.value(step.value));
                submit_put(session, ticket, key, value, request.ttl)
            }
            Action::ReadAt => session.submit_read_at(ticket, offset, bytes as usize),
            Action::WriteAt => session.submit_write_at(ticket, offset, view.value(step.value)),
            _ => Err(Error::unsupported("this operation in flight")),
        }
    }

    /// Sends the accepted operations.
    fn hand_over<S: Session, C: Clock>(
        &mut self,
        context: &mut ThreadContext<'_, Thread<S>, C>,
    ) -> Result<()> {
        if self.tickets_shown.is_empty() {
            return Ok(());
        }
        context.handle.session.send()?;
        let sent = context.clock.ticks();
        for ticket in self.tickets_shown.drain(..) {
            self.slots[ticket as usize].sent = sent;
        }
        Ok(())
    }

    /// Sends the accepted operations, waits for answers, and counts them.
    fn run_round<S: Session, C: Clock>(
        &mut self,
        context: &mut ThreadContext<'_, Thread<S>, C>,
    ) -> Result<()> {
        self.hand_over(context)?;
        let ThreadContext { handle, clock, recorder, task, .. } = &mut *context;
        let Self { slots, landed, sink, .. } = self;
        handle.session.complete(|ticket, answer| {
            let request = &slots[ticket as usize];
            landed.push((
                ticket,
                answer.map(|value| check_answer::<S>(request, value, task.verify, sink)),
            ));
        })?;
        self.now = clock.ticks();
        recorder.last_end = clock.time(self.now);
        // Operations that end at an edge or past it belong to the slice that begins there.
        if recorder.edge != OVER && recorder.last_end >= recorder.edge {
            recorder.edge = recorder.time.cross(recorder.last_end, &mut recorder.tallies);
        }
        self.count(context);
        if self.again.tickets.is_empty() {
            Ok(())
        } else {
            self.resubmit(&mut context.handle.session)
        }
    }

    /// Submits the operations that met a conflict again.
    #[cold]
    fn resubmit<S: Session>(&mut self, session: &mut S) -> Result<()> {
        for ticket in std::mem::take(&mut self.again.tickets) {
            self.again.submit(session, ticket, &mut self.slots[ticket as usize])?;
            self.tickets_shown.push(ticket);
        }
        Ok(())
    }

    fn count<S, C: Clock>(&mut self, context: &mut ThreadContext<'_, Thread<S>, C>) {
        #[cfg(test)]
        crate::scripted::spend_filing_time(self.landed.len());
        let (clock, now) = (context.clock, self.now);
        let mut together = SharedOutcome::default();
        for (ticket, answer) in self.landed.drain(..) {
            let request = &mut self.slots[ticket as usize];
            let tallies = &mut context.recorder.tallies;
            let tally = &mut tallies[usize::from(request.tally)];
            match answer {
                Ok(landed) => {
                    tally.count += 1;
                    tally.missing += u64::from(landed.missing);
                    tally.wrong += u64::from(landed.wrong);
                    let read_bytes =
                        landed.value_bytes.map(|bytes| bytes + u64::from(request.key_bytes));
                    tally.read_bytes += read_bytes.unwrap_or(0);
                    tally.write_bytes += request.write_bytes;
                    if let Some(missing) = self.missing.filter(|_| !request.reads) {
                        missing.remove(request.number);
                    }
                    if !together.count_if_equal(request) {
                        let before =
                            std::mem::replace(&mut together, SharedOutcome::from_request(request));
                        before.file_times(clock, now, tallies);
                    }
                }
                Err(error) if error.class == ErrorClass::Conflict && request.may_retry() => {
                    request.retries += 1;
                    tally.retries += 1;
                    self.again.tickets.push(ticket);
                    continue;
                }
                Err(error) => {
                    tally.error(error.class);
                    context.shared.judge(error, context.task.errors_max);
                    self.lost.extend(request.inserts.then_some(request.number));
                }
            }
            request.busy = false;
            self.free.push(ticket);
        }
        together.file_times(clock, now, &mut context.recorder.tallies);
    }
}

/// Records steps that began together.
fn note<S, C: Clock>(
    context: &mut ThreadContext<'_, Thread<S>, C>,
    steps: &[Step<KeyedStep>],
    view: &View<'_>,
    began: u64,
) -> Result<()> {
    let ThreadContext { clock, recorder, .. } = context;
    let Some(requests) = &mut recorder.requests else { return Ok(()) };
    note_together(steps, view, clock.time(began), requests)
}

impl SharedOutcome {
    #[inline]
    fn from_request(request: &InFlight) -> Self {
        Self { tally: request.tally, start: request.start, sent: request.sent, count: 1 }
    }

    /// Counts `request` if it has the same times; returns whether it has.
    #[inline]
    fn count_if_equal(&mut self, request: &InFlight) -> bool {
        let equal =
            (self.tally, self.start, self.sent) == (request.tally, request.start, request.sent);
        self.count += u64::from(equal);
        equal
    }

    #[inline]
    fn file_times<C: Clock>(self, clock: C, now: u64, tallies: &mut [Tally]) {
        if self.count > 0 {
            let submit_ns = clock.ns(self.sent.saturating_sub(self.start));
            let completion_ns = clock.ns(now.saturating_sub(self.sent));
            tallies[usize::from(self.tally)].record_in_flight(submit_ns, completion_ns, self.count);
        }
    }
}

impl InFlight {
    #[inline]
    fn new(Step { slot, action: step, write_bytes }: &Step<KeyedStep>, view: &View<'_>) -> Self {
        let (number, length, key_bytes) = match step.action {
            Action::ReadAt | Action::WriteAt | Action::Discard | Action::Flush => {
                let (offset, bytes) = view.piece(step.first);
                (offset, bytes, 0)
            }
            _ => (view.data.numbers[step.first as usize], 1, view.key(step.first).len()),
        };
        Self {
            tally: *slot,
            reads: matches!(step.action, Action::Get | Action::ReadAt),
            key_bytes: key_bytes as u32,
            number,
            length,
            write_bytes: *write_bytes,
            ttl: if step.action == Action::PutExpiring { view.ttl(step.value) } else { None },
            ..Self::default()
        }
    }

    fn may_retry(&self) -> bool {
        u32::from(self.retries) < RETRIES_MAX
    }
}

/// Turns an answer into its result. Every value is read whole, or checked.
#[inline]
fn check_answer<S: Session>(
    request: &InFlight,
    value: Option<&[u8]>,
    verify: bool,
    sink: &mut u64,
) -> Completion {
    let Some(value) = value else {
        return Completion { missing: request.reads, wrong: false, value_bytes: None };
    };
    let wrong = verify && !is_sound(value, request.number);
    if !verify {
        *sink ^= fetch::<S>(value);
    }
    Completion { missing: false, wrong, value_bytes: Some(value.len() as u64) }
}

#[cfg(test)]
mod tests;
