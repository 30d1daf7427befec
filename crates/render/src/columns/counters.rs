//! The table of the processor's counters, where the suite asks for them. In CSV files and the
//! workbook they are columns of the cost table.

use super::column::{Column, Kind, figure, text};
use super::row::engine_phases;
use kvdyno_analysis::figures::catalogue as c;

const AID: &str = "\
Of the engine's process, or of its server with all its processes, in user mode, over the operations
of all roles: the engine's own threads are in it, and, where the engine is no server, the
load generator. CPU us/op has the kernel's part, too.";

/// A row for each measured phase that was counted, or was to be.
pub(super) static KIND: Kind = Kind {
    name: "counters",
    title: "Counters of the processor, all roles together",
    sheet: "",
    always: false,
    csv: false,
    engines: true,
    main: Some(&c::CPU_PER_OP),
    columns: COLUMNS,
    rows: |summary| {
        let mut rows = engine_phases(summary);
        rows.retain(|row| c::BY_PROCESSOR.iter().any(|figure| row.metric(figure).is_some()));
        rows
    },
    lines: |row, _| vec![*row],
    aid: |_, _, _| AID.to_owned(),
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_of_all()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    text("CPU\nus/op", |line| line.main(&c::CPU_PER_OP)),
    figure(&c::PROCESS_INSTRUCTIONS_PER_OP, "instr.\n/op", ""),
    figure(&c::PROCESS_CYCLES_PER_OP, "cycles\n/op", ""),
    figure(&c::PROCESS_CACHE_MISSES_PER_OP, "cache\nmisses/op", ""),
    figure(&c::PROCESS_BRANCH_MISSES_PER_OP, "branch\nmisses/op", ""),
];
