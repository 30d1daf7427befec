//! `kvdyno-redb`: the worker of engine `redb`.

mod describe;
mod engine;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Redb>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        let scratch = tempfile::tempdir().unwrap();
        let report = kvdyno_engine::conformance::run::<super::engine::Redb>(scratch.path());
        println!("{report}");
        assert!(report.conforms(), "{report}");
    }
}
