//! `kvdyno-rocksdb`: the worker of engine `rocksdb`.

mod describe;
mod engine;
mod events;
mod raw;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::RocksDb>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        let scratch = tempfile::tempdir().unwrap();
        let report = kvdyno_engine::conformance::run::<super::engine::RocksDb>(scratch.path());
        assert!(report.conforms(), "{report}");
    }
}
