//! A block of operations, prepared whole before the clock looks at the first.

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<A> {
    /// Which tally it counts in.
    pub(crate) slot: u8,
    pub(crate) action: A,
    /// Bytes of keys and values it writes.
    pub(crate) write_bytes: u64,
}

/// Prepared operations and everything they point at. Memory is kept from block to block.
#[derive(Debug)]
pub(crate) struct Block<A, D> {
    pub(crate) steps: Vec<Step<A>>,
    /// Open loop: when each step is to start.
    pub(crate) due: Vec<u64>,
    /// Some step gives bytes to the engine.
    pub(crate) writes: bool,
    pub(crate) data: D,
}

impl<A, D: Default> Default for Block<A, D> {
    fn default() -> Self {
        Self { steps: Vec::new(), due: Vec::new(), writes: false, data: D::default() }
    }
}
