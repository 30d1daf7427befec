//! A block of operations, prepared as a whole before the first of them is timed.

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<A> {
    /// The index of the tally that it counts in.
    pub(crate) slot: u8,
    pub(crate) action: A,
    /// Bytes of keys and values it writes.
    pub(crate) write_bytes: u64,
}

/// Prepared operations and everything they point at. Memory is kept from block to block.
#[derive(Debug)]
pub(crate) struct Block<A, D> {
    pub(crate) steps: Vec<Step<A>>,
    /// The time at which each step is to start, in an open loop.
    pub(crate) due: Vec<u64>,
    /// Whether some step gives bytes to the engine.
    pub(crate) writes: bool,
    pub(crate) data: D,
}

impl<A, D: Default> Default for Block<A, D> {
    fn default() -> Self {
        Self { steps: Vec::new(), due: Vec::new(), writes: false, data: D::default() }
    }
}
