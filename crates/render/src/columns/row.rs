//! What a row of a table is about.

use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::block_io::{IoRow, PhaseIo};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::efficiency::Efficiency;
use kvdyno_analysis::figures::explain::Explained;
use kvdyno_analysis::figures::group::{Group, LoadRow, RoleRow, RunRow};
use kvdyno_analysis::figures::job::DriveJob;
use kvdyno_analysis::figures::metric::{Definition, Metric, Metrics};
use kvdyno_analysis::figures::profile::{FunctionSamples, ThreadsFunctions};
use kvdyno_analysis::figures::ranks::RankRow;
use kvdyno_analysis::figures::relative::RelativeTo;
use kvdyno_analysis::figures::trials::At;
use kvdyno_record::hlog::Kind as Clock;

const FLUSH: &str = "flush";

/// A load, a phase, a role or one of its operations: whatever a row is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'s> {
    /// The group's number.
    pub(crate) at: usize,
    pub(crate) group: &'s Group,
    pub(crate) phase: &'s str,
    /// Its figures.
    pub(crate) metrics: &'s Metrics,
    pub(crate) load: Option<&'s LoadRow>,
    /// The measured phase, by its number.
    pub(crate) run: Option<(usize, &'s RunRow)>,
    pub(crate) role: Option<(usize, &'s RoleRow)>,
    /// One of the role's operations; none: all together.
    pub(crate) op: Option<&'s str>,
    pub(crate) explained: Option<&'s Explained>,
    pub(crate) io: Option<(&'s PhaseIo, &'s IoRow)>,
    /// A function of threads of one kind.
    pub(crate) function: Option<(&'s ThreadsFunctions, &'s FunctionSamples)>,
    /// A rank of a crew.
    pub(crate) rank: Option<&'s RankRow>,
    /// Which of its times are shown.
    pub(crate) clock: Clock,
}

impl<'s> Row<'s> {
    pub(super) fn new(at: usize, group: &'s Group, phase: &'s str, metrics: &'s Metrics) -> Self {
        Self {
            at,
            group,
            phase,
            metrics,
            load: None,
            run: None,
            role: None,
            op: None,
            explained: None,
            io: None,
            function: None,
            rank: None,
            clock: Clock::Service,
        }
    }

    /// Returns the rows of a phase's roles, each before those of its operations.
    pub(crate) fn roles(self) -> impl Iterator<Item = Row<'s>> {
        let roles = self.run.map_or(&[][..], |(_, run)| &run.roles);
        roles.iter().enumerate().flat_map(move |(at, role)| {
            let whole = Row { role: Some((at, role)), metrics: &role.metrics, ..self };
            let ops = role.ops.iter();
            let ops = ops.map(move |op| Row { op: Some(&op.op), metrics: &op.metrics, ..whole });
            std::iter::once(whole).chain(ops)
        })
    }

    /// A figure of its own, or of the whole phase.
    pub(crate) fn metric(&self, definition: &Definition) -> Option<&'s Metric> {
        let of_phase = || self.run.and_then(|(_, run)| run.metrics.get(definition));
        self.metrics.get(definition).or_else(of_phase)
    }

    pub(crate) fn value(&self, definition: &Definition) -> Option<f64> {
        self.metric(definition)?.value
    }

    /// Returns its ratio to the base engine.
    pub(crate) fn relative(&self) -> Option<&'s RelativeTo> {
        match (self.role, self.load) {
            (Some((_, role)), _) => role.relative.as_ref().filter(|_| self.op.is_none()),
            (None, load) => load?.relative.as_ref(),
        }
    }

    /// Returns its ratio to the same work on the first volume.
    pub(crate) fn relative_volume(&self) -> Option<&'s RelativeTo> {
        match (self.role, self.load) {
            (Some((_, role)), _) => role.relative_volume.as_ref().filter(|_| self.op.is_none()),
            (None, load) => load?.relative_volume.as_ref(),
        }
    }

    /// Returns the numbers of its group, its phase and its role.
    pub(crate) fn position(&self) -> (usize, usize, usize) {
        (self.at, self.run.map_or(0, |(at, _)| at), self.role.map_or(0, |(at, _)| at))
    }

    /// Where its readings are in the record of a trial.
    pub(crate) fn role_scope(&self) -> Option<At<'s>> {
        let (_, role) = self.role?;
        Some(At { phase: self.phase, role: &role.role, op: self.op })
    }

    /// Returns the threads of the role, the load, or the rank; else of all roles together.
    pub(crate) fn threads(&self) -> Option<u32> {
        let threads = self.role.map(|(_, role)| role.threads);
        let threads = threads.or_else(|| Some(self.load?.threads));
        let threads = threads.or_else(|| Some(self.explained?.threads));
        let threads = threads.or_else(|| Some(self.rank?.threads));
        let run = || self.run.map(|(_, run)| run).or_else(|| self.io_run());
        threads.or_else(|| Some(run()?.threads())).or_else(|| self.threads_of_loads_io())
    }

    /// The phase whose I/O or functions these are.
    fn io_run(&self) -> Option<&'s RunRow> {
        self.is_of_phase().then_some(())?;
        self.group.runs.iter().find(|run| run.phase == self.phase)
    }

    /// Whether it is about a phase of any kind, and not about a row of the group.
    fn is_of_phase(&self) -> bool {
        self.io.is_some() || self.function.is_some()
    }

    fn threads_of_loads_io(&self) -> Option<u32> {
        let load = self.group.load.as_ref().filter(|_| self.is_of_phase());
        load.filter(|load| load.phase == self.phase).map(|load| load.threads)
    }

    /// The role's name; none for a load, and for all roles together.
    pub(crate) fn role_name(&self) -> Option<&'s str> {
        let explained = || self.explained.filter(|one| !one.load)?.role.as_deref();
        self.role.map(|(_, role)| role.role.as_str()).or_else(explained)
    }

    /// The bare drive's job.
    pub(crate) fn job(&self) -> Option<&'s DriveJob> {
        self.run?.1.job.as_ref()
    }

    /// The kind of I/O of the bare drive's job, or `flush`.
    pub(crate) fn drive_io(&self) -> Option<&'s str> {
        let job = self.job()?;
        Some(if self.op() == FLUSH { FLUSH } else { &job.io })
    }

    /// Bytes of each of the bare drive's I/Os; a flush moves none.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        self.job().map(|job| job.block_bytes).filter(|_| self.op() != FLUSH)
    }

    /// The bytes that the I/Os of a trace moved per second: they differ in size, and its discards
    /// move none. None for other jobs, whose I/Os are of one size.
    pub(crate) fn replayed_bytes_per_s(&self) -> Option<f64> {
        self.job().filter(|job| job.is_replay())?;
        self.value(&c::USER_BYTES_PER_S).filter(|bytes| *bytes > 0.0)
    }

    /// Its standing against the bare drive.
    pub(crate) fn efficiency(&self) -> Option<&'s Efficiency> {
        self.run?.1.efficiency.as_ref()
    }

    /// Whether it is about several kinds of operations together, whose common latencies have no
    /// meaning.
    pub(crate) fn is_pooled(&self) -> bool {
        self.op.is_none() && self.role.is_some_and(|(_, role)| role.is_mix())
    }

    /// The name of what was done, where latencies of several operations together stand beside it.
    pub(crate) fn op_or_all(&self) -> &'s str {
        if self.is_pooled() { "all operations" } else { self.op() }
    }

    /// The name of what was done: an operation, or those of the role.
    pub(crate) fn op(&self) -> &'s str {
        self.op.or(self.role.map(|(_, role)| role.mix.as_str())).unwrap_or_default()
    }
}

/// Every load.
pub(crate) fn loads(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.groups.iter().enumerate().filter_map(|(at, group)| {
        let load = group.load.as_ref()?;
        Some(Row { load: Some(load), ..Row::new(at, group, &load.phase, &load.metrics) })
    })
}

/// Every load, and every role of a measured phase, whose time was accounted for.
pub(crate) fn explained_rows(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.explained.iter().filter_map(|explained| {
        let group = summary.groups.get(explained.group)?;
        let row = Row::new(explained.group, group, &explained.phase, &explained.metrics);
        Some(Row { explained: Some(explained), ..row })
    })
}

/// Every measured phase.
pub(crate) fn phases(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.groups.iter().enumerate().flat_map(|(at, group)| {
        group.runs.iter().enumerate().map(move |(number, run)| Row {
            run: Some((number, run)),
            ..Row::new(at, group, &run.phase, &run.metrics)
        })
    })
}

/// Every measured phase of an engine.
pub(super) fn engine_phases(summary: &Summary) -> Vec<Row<'_>> {
    phases(summary).filter(|row| !row.group.bare_drive).collect()
}

/// Every measured phase of a bare drive: like beside like, by depth and threads. (The plan's order
/// is drawn at random.)
pub(crate) fn jobs(summary: &Summary) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = phases(summary).filter(|row| row.job().is_some()).collect();
    rows.sort_by_key(|row| {
        let job = row.job().map(|job| (&job.io, job.block_bytes, &job.method, job.depth));
        (job, row.group.threads, &row.group.label)
    });
    rows
}
