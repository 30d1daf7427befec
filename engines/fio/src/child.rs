//! fio as a child that does not outlive its worker.

#![expect(unsafe_code, reason = "what runs between fork and exec")]

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Starts a program that is killed when **the thread that calls this** ends: a worker that was
/// killed must not leave fio writing to a drive that the next case measures.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    let parent = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // The parent died before its death could be watched.
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: `prepare` runs in the child between fork and exec. It makes system calls only: it
    // allocates nothing, takes no lock, and touches no memory but its own captures. (An error
    // made of a kind does not allocate.)
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn it_dies_with_the_thread_that_spawned_it() {
        let spawning = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("600");
            spawn(command).unwrap()
        });
        let status = spawning.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    }
}
