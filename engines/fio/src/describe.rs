//! The description: fio's version, and the options of engine `drive` by the same names.

use kvdyno_engine::{Capabilities, Description, Durability, OptionSpec, Planning, PowerLoss};
use std::collections::BTreeMap;
use std::process::Command;

pub(crate) fn description() -> Description {
    Description {
        name: "fio".to_owned(),
        title: "fio".to_owned(),
        version: version(),
        build: BTreeMap::new(),
        capabilities: Capabilities::bare_drive([
            (Durability::Async, PowerLoss::LosesLast, "direct=1, never flushed"),
            (Durability::Commit, PowerLoss::Keeps, "direct=1 sync=dsync"),
        ]),
        options: vec![
            OptionSpec::choice("io", &["io_uring", "psync", "mmap"], "fio's ioengine."),
            OptionSpec::flag("registered", true, "fio's fixedbufs and registerfiles."),
            OptionSpec::flag("sqpoll", false, "fio's sqthread_poll."),
            OptionSpec::flag("iopoll", false, "fio's hipri."),
            OptionSpec::flag("direct", true, "fio's direct."),
            OptionSpec::flag("read_only", false, "fio's readonly."),
        ],
        planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 16 << 20 },
    }
}

/// Returns fio's version as fio reports it, such as `3.33`.
fn version() -> String {
    let output = Command::new("fio").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let text = text.unwrap_or_else(|error| format!("not installed ({error}): apt install fio"));
    text.strip_prefix("fio-").unwrap_or(&text).to_owned()
}
