//! Ctrl-C: the first asks for an end, the second ends at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of interrupts by the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Handles SIGINT, SIGTERM and SIGHUP from now on. All callers in the process share one count
    /// of them.
    pub(crate) fn listen() -> std::io::Result<Self> {
        static SHARED: Mutex<Option<Interrupt>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interrupt) = &*shared {
            return Ok(interrupt.clone());
        }
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let count = Arc::clone(&interrupt.0);
            let action = move || {
                count.fetch_add(1, Relaxed);
            };
            register(signal, action)?;
        }
        *shared = Some(interrupt.clone());
        Ok(interrupt)
    }

    /// Whether the user wants to end; completed work is kept.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    /// Whether the user wants to end now.
    pub(crate) fn is_urgent(&self) -> bool {
        self.0.load(Relaxed) > 1
    }
}

#[expect(unsafe_code, reason = "a signal handler's body must be async-signal-safe")]
fn register(signal: i32, action: impl Fn() + Send + Sync + 'static) -> std::io::Result<()> {
    // SAFETY: the only action registered adds to an atomic number, which is async-signal-safe.
    unsafe { signal_hook::low_level::register(signal, action) }.map(drop)
}
