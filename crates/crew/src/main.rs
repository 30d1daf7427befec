//! `mpirun kvdyno-crew WORKER run`: one rank of several, which the program sees as one worker. It
//! moves the messages that the library decides on; one thread alone calls MPI. No rank waits in MPI
//! while a phase runs: a waiting call burns a processor.

mod rank;
mod transport;

use rank::RankAtWork;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use transport::Transport;

const USAGE: &str = "\
A crew of kvdyno: started by a launcher of MPI, as `kvdyno run` does for a suite with [crew].

  mpirun -n 4 kvdyno-crew WORKER run
      the first rank reads a job on standard input, all ranks start WORKER and do their shares
";

fn main() -> ExitCode {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_option = |word: &OsString| word.to_string_lossy().starts_with('-');
    if command.len() < 2 || command.first().is_some_and(is_option) {
        let _ = std::io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    }
    let tell = |error| {
        let _ = writeln!(std::io::stderr(), "error: {error}");
    };
    let transport = match Transport::start() {
        Ok(transport) => transport,
        Err(error) => {
            tell(error);
            return ExitCode::FAILURE;
        }
    };
    let mut rank = RankAtWork::new(&transport, command);
    let done = rank.run();
    // The rank's worker and files are released before the other ranks may end.
    drop(rank);
    if let Err(error) = done {
        tell(error);
        transport.abort();
    }
    ExitCode::SUCCESS
}
