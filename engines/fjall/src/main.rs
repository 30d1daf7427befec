//! `kvdyno-fjall`: the worker of engine `fjall`.

mod describe;
mod engine;
mod events;
mod records;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Fjall>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        let scratch = tempfile::tempdir().unwrap();
        let report = kvdyno_engine::conformance::run::<super::engine::Fjall>(scratch.path());
        println!("{report}");
        assert!(report.conforms(), "{report}");
    }
}
