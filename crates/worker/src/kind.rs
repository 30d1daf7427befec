//! The interface between the timed work and the loops, the clock and the slices. A kind of work
//! prepares its operations in blocks and performs them one by one. Key-value operations are one
//! kind (`keyvalue`), requests of a graph the other (`graph`).

use crate::block::{Block, Step};
use crate::clock::Clock;
use crate::recorder::Recorder;
use crate::shared::{Task, ThreadContext};
use crate::tally::Tally;
use kvdyno_engine::{Engine, Error, Result};
use kvdyno_trace::Spool;
use std::io;

/// A kind of work.
pub(crate) trait Kind: Sized + 'static {
    /// The engine that the work is performed on.
    type Engine: Engine;
    /// One thread's handle on the engine.
    type Handle<'e>;
    /// The part of a step that differs between kinds of work.
    type Action: Copy;
    /// The data that the steps of a block point at.
    type Data: Default;
    /// A block as it is performed.
    type View<'b>;
    /// The source of a thread's operations.
    type Source<'p>: Supply<Self::Action, Self::Data> + Send;

    /// Opens a handle for the calling thread, which will perform the operations of `source`.
    fn open<'e>(engine: &'e Self::Engine, source: &Self::Source<'_>) -> Result<Self::Handle<'e>>;

    /// Returns the data that performing `block` needs.
    fn view<'b>(
        source: &'b Self::Source<'_>,
        block: &'b BlockOf<Self>,
        task: &Task,
    ) -> Self::View<'b>;

    /// Performs one operation, and counts its result in `tally` once it has succeeded. Bytes that
    /// it reads go into `sink`.
    fn perform(
        handle: &mut Self::Handle<'_>,
        step: &Step<Self::Action>,
        view: &Self::View<'_>,
        tally: &mut Tally,
        sink: &mut u64,
    ) -> Result<()>;

    /// Adds the requests of a step, which began at `_began_ns`, to a recording.
    fn record(
        _step: &Step<Self::Action>,
        _view: &Self::View<'_>,
        _began_ns: u64,
        _requests: &mut Spool,
    ) -> io::Result<()> {
        Err(io::Error::other("only operations on keys are recorded"))
    }

    /// Keeps `depth` operations in flight until there is no more to do or no more time.
    fn run_in_flight<C: Clock>(
        context: ThreadContext<'_, Self::Handle<'_>, C>,
        _source: &mut Self::Source<'_>,
        _block: BlockOf<Self>,
        _depth: u32,
    ) -> Recorder {
        context.shared.fail(Error::unsupported("operations in flight"));
        context.recorder
    }
}

/// A block of a kind of work.
pub(crate) type BlockOf<K> = Block<<K as Kind>::Action, <K as Kind>::Data>;

/// Prepares operations.
pub(crate) trait Supply<A, D> {
    /// Prepares up to `steps` operations. False: there are none left.
    fn fill(&mut self, block: &mut Block<A, D>, steps: usize) -> bool;

    /// Settles a block after it was performed: the steps from `done` on were not begun, and those
    /// in `failed` failed.
    fn settle(&mut self, block: &Block<A, D>, done: usize, failed: &[usize]);

    /// The most operations that one block can hold. [`Self::fill`] prepares every number of steps
    /// up to this, so that a count of operations taken beforehand is exact. Recorded requests are
    /// an exception: they are counted out by the dealer.
    fn steps_max(&self) -> usize;

    /// Counts the recorded requests that were due in the first `_until_ns` of the phase and not
    /// prepared. Called once, when the phase is over.
    fn count_unprepared(&mut self, _until_ns: u64) -> u64 {
        0
    }
}
