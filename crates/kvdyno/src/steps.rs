//! The steps of a run, for the one test that kills the program at each of them. Not compiled into a
//! release build.

/// The environment variable with the step at which the program kills itself, as by `kill -9`.
#[cfg(debug_assertions)]
pub(crate) const DIE_AT: &str = "KVDYNO_DIE_AT";

/// Kills the program, if this is the step in [`DIE_AT`].
#[cfg(debug_assertions)]
pub(crate) fn pass_step(step: &str) {
    if std::env::var_os(DIE_AT).is_some_and(|name| name == step) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub(crate) fn pass_step(_: &str) {}
