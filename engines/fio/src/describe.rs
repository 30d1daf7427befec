//! What it says of itself: fio's version, and the options of engine `drive` by the same names.

use kvdyno_engine::{
    Capabilities, Description, Durability, OptionKind, OptionSpec, Planning, Value,
};
use std::collections::BTreeMap;
use std::process::Command;

pub(crate) fn description() -> Description {
    let boolean = |name: &str, default: bool, help: &str| {
        OptionSpec::new(name, OptionKind::Boolean, Value::Boolean(default), help)
    };
    let words = ["io_uring", "psync", "mmap"].map(str::to_owned).into();
    let io = OptionSpec::new(
        "io",
        OptionKind::Choice { of: words },
        Value::Text("io_uring".to_owned()),
        "fio's ioengine.",
    );
    Description {
        name: "fio".to_owned(),
        title: "fio".to_owned(),
        version: version(),
        build: BTreeMap::new(),
        capabilities: capabilities(),
        options: vec![
            io,
            boolean("registered", true, "fio's fixedbufs and registerfiles."),
            boolean("sqpoll", false, "fio's sqthread_poll."),
            boolean("iopoll", false, "fio's hipri."),
            boolean("direct", true, "fio's direct."),
            boolean("read_only", false, "fio's readonly."),
        ],
        planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 16 << 20 },
    }
}

/// `3.33`, by fio itself.
fn version() -> String {
    let output = Command::new("fio").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let text = text.unwrap_or_else(|error| format!("not installed ({error}): apt install fio"));
    text.strip_prefix("fio-").unwrap_or(&text).to_owned()
}

/// As long as the bare drive's longest: the two do the same jobs.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

fn capabilities() -> Capabilities {
    let durability = BTreeMap::from([
        (Durability::Async, "direct=1, never flushed".to_owned()),
        (Durability::Commit, "direct=1 sync=dsync".to_owned()),
    ]);
    Capabilities {
        value_bytes_max: Some(BLOCK_BYTES_MAX),
        ..Capabilities::of_bare_drive(durability)
    }
}
