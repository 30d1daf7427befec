//! `kvdyno-lmdb`: the worker of engine `lmdb`.

mod cursor;
mod database;
mod describe;
mod device;
mod engine;
mod library;
mod raw;
mod session;
mod size;
mod value;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Lmdb>()
}

#[cfg(test)]
mod existing_tests;

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        let scratch = tempfile::tempdir().unwrap();
        let report = kvdyno_engine::conformance::run::<super::engine::Lmdb>(scratch.path());
        println!("{report}");
        assert!(report.conforms(), "{report}");
    }
}
