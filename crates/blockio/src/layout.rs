//! When the programs run, and where the running kernel keeps what they read.

use super::btf::{Btf, Tracepoint};

/// When a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Entered,
    Merged,
    Issued,
    Completed,
}

impl Moment {
    pub(super) const ALL: [Self; 4] = [Self::Entered, Self::Merged, Self::Issued, Self::Completed];

    /// The kernel's tracepoint.
    pub(super) fn tracepoint(self) -> &'static str {
        match self {
            Self::Entered => "block_rq_insert",
            Self::Merged => "block_rq_merge",
            Self::Issued => "block_rq_issue",
            Self::Completed => "block_rq_complete",
        }
    }
}

/// Tracepoints, offsets of fields and bits of flags.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The tracepoint of each [`Moment`], in their order.
    tracepoints: Vec<Tracepoint>,
    /// The offsets of the pointers that lead from a request to its disk (`struct gendisk`).
    pub(super) to_disk: Vec<i16>,
    pub(super) major: i16,
    pub(super) first_minor: i16,
    pub(super) flags: i16,
    pub(super) sector: i16,
    /// The offset of a request's remaining bytes.
    pub(super) bytes: i16,
    pub(super) task_flags: i16,
    /// Bits of a request's flags.
    pub(super) meta: i32,
    pub(super) fua: i32,
}

impl Layout {
    /// Reads the layout; `Err` is the name that this kernel does not have.
    pub(super) fn read(btf: &Btf) -> Result<Self, &'static str> {
        let field = |structure, name| btf.field(structure, name).ok_or(name);
        let tracepoint = |moment: Moment| {
            let name = moment.tracepoint();
            btf.tracepoint(name).ok_or(name)
        };
        let bit = |name| btf.enumerator(name).map(|bit| 1 << bit).ok_or(name);
        Ok(Self {
            tracepoints: Moment::ALL.into_iter().map(tracepoint).collect::<Result<_, _>>()?,
            // Until Linux 5.16 a request had a pointer to its disk.
            to_disk: match btf.field("request", "rq_disk") {
                Some(disk) => vec![disk],
                None => vec![field("request", "q")?, field("request_queue", "disk")?],
            },
            major: field("gendisk", "major")?,
            first_minor: field("gendisk", "first_minor")?,
            flags: field("request", "cmd_flags")?,
            sector: field("request", "__sector")?,
            bytes: field("request", "__data_len")?,
            task_flags: field("task_struct", "flags")?,
            meta: bit("__REQ_META")?,
            fua: bit("__REQ_FUA")?,
        })
    }

    pub(super) fn tracepoint(&self, moment: Moment) -> Tracepoint {
        self.tracepoints[moment as usize]
    }
}
