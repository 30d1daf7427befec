//! `kvdyno-surrealkv`: the worker of engine `surrealkv`.

mod describe;
mod engine;
mod events;
mod transaction;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::SurrealKv>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        let scratch = tempfile::tempdir().unwrap();
        let report = kvdyno_engine::conformance::run::<super::engine::SurrealKv>(scratch.path());
        println!("{report}");
        assert!(report.conforms(), "{report}");
    }
}
