//! A few engines at one setting: their loads, what each role got by threads, and the cost.

use super::super::footnotes::Footnotes;
use super::super::format::format_count;
use super::block::{self, Block, Names, RATE, Row, TIME};
use super::cells::{Figure, Source, row};
use super::contest::Contest;
use super::cost;
use super::line::{Line, NOTE_LINES, Part, sentence};
use super::runs::{Detail, Runs};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::{Group, RoleRow, RunRow};
use kvdyno_analysis::figures::lists::unique;
use kvdyno_analysis::figures::metric::Metrics;
use kvdyno_analysis::figures::sweep::threads_in_words;
use kvdyno_analysis::figures::validity::Validity;

/// More engines than this do not stand side by side.
pub(super) const ENGINES_MAX: usize = 4;

/// The same limit where instructions are counted: one figure stands for all.
pub(super) const COUNTED_MAX: usize = 7;

/// Operations of a role that are shown; the rest is left to the tables.
const OPERATIONS_MAX: usize = 4;

/// The note on response times that an engine which does nothing has, too.
const WAITS: &str = "the null engine's p99 is about the same: waits for a CPU are in it";

/// Footnotes that are shown; the rest is left to the tables.
const NOTES_MAX: usize = 3;

/// All blocks.
pub(super) fn blocks(contest: &Contest<'_>, detail: Detail) -> Part {
    let mut notes = Footnotes::default();
    let mut blocks = vec![load(contest, &mut notes)];
    let mut left_out: Vec<String> = Vec::new();
    for phase in contest.phases() {
        let all = threads(contest, phase);
        let shown = detail.threads(&all);
        if shown.len() < all.len() {
            let is_hidden = |threads: &&Option<u32>| !shown.contains(threads);
            let missing: Vec<String> =
                all.iter().filter(is_hidden).map(|t| t.unwrap_or(1).to_string()).collect();
            let words = format!("{} threads", missing.join(", "));
            if !left_out.contains(&words) {
                left_out.push(words);
            }
        }
        let runs = Runs { contest, phase, shown: &shown, detail };
        blocks.extend(runs.blocks(&mut notes));
    }
    if detail < Detail::Few {
        left_out.push("further percentiles and costs".to_owned());
    }
    let names = names(contest, &blocks);
    let mut lines = Vec::new();
    for block in blocks.iter().filter(|block| !block.rows.is_empty()) {
        if !lines.is_empty() {
            lines.push(Line::blank());
        }
        lines.extend(block.lines(&names));
    }
    lines.extend(footnotes(&notes, contest));
    let left_out = (!left_out.is_empty()).then(|| left_out.join("; "));
    Part { lines, left_out }
}

fn names(contest: &Contest<'_>, blocks: &[Block]) -> Names {
    let engines: Vec<String> = contest.labels.iter().map(|label| contest.name(label)).collect();
    let compared = match engines.as_slice() {
        [_] => "range".to_owned(),
        [one, other] => format!("{one} vs. {other}"),
        _ => String::new(),
    };
    let widths = block::widths(&engines, blocks);
    Names { engines, widths, compared }
}

fn footnotes(notes: &Footnotes, contest: &Contest<'_>) -> Vec<Line> {
    let mut lines = notes.lines();
    if lines.len() > NOTES_MAX {
        lines.truncate(NOTES_MAX);
        lines.push("... further reasons: --full".to_owned());
    }
    if contest.labels.len() > 2 && !contest.is_counted() {
        let base = base_name(contest);
        lines.insert(
            0,
            format!(
                "x: times {base}, over pairs of trials; =: equal; ~: undecided; ?: fewer than 4 \
                 trials"
            ),
        );
    }
    lines.iter().flat_map(|line| sentence(None, "", line, NOTE_LINES)).collect()
}

/// The base of the ratios, in the genitive.
fn base_name(contest: &Contest<'_>) -> String {
    let bases = contest.groups.iter().flat_map(|group| {
        let roles = group.runs.iter().flat_map(|run| &run.roles);
        let of_roles = roles.filter_map(|role| role.relative.as_ref());
        let load = group.load.as_ref().and_then(|load| load.relative.as_ref());
        let all = of_roles.chain(load).map(|relative| relative.base.as_str());
        all.filter(|base| *base != group.label)
    });
    match unique(bases).as_slice() {
        [_, _, ..] if contest.groups.iter().any(|group| group.part.is_some()) => {
            "those of the first engine of its part".to_owned()
        }
        _ => format!("{}'s", contest.name(contest.labels[0])),
    }
}

fn threads(contest: &Contest<'_>, phase: &str) -> Vec<Option<u32>> {
    let has = |group: &&&Group| group.runs.iter().any(|run| run.phase == phase);
    let mut threads: Vec<Option<u32>> =
        contest.groups.iter().filter(has).map(|group| group.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn load(contest: &Contest<'_>, notes: &mut Footnotes) -> Block {
    let sources: Vec<Source<'_>> = contest
        .labels
        .iter()
        .map(|label| {
            let with = |group: &&&Group| group.label == *label && group.load.is_some();
            let group = contest.groups.iter().find(with).copied();
            let load = group.and_then(|group| group.load.as_ref());
            let relative = load.and_then(|load| load.relative.as_ref());
            Source {
                group,
                metrics: load.map(|load| &load.metrics),
                beside: relative,
                validity: None,
            }
        })
        .collect();
    let figures: [(&str, Figure); 5] = [
        ("instructions/record", Figure { definition: &c::INSTRUCTIONS_PER_OP, than: Some(TIME) }),
        ("of the engine", Figure::uncompared(&c::ENGINE_INSTRUCTIONS_PER_OP)),
        ("records/s", Figure { definition: &c::RECORDS_PER_S, than: Some(RATE) }),
        ("size MiB", Figure::uncompared(&c::DATABASE_USED)),
        ("write amp.", Figure::uncompared(&c::WRITE_AMPLIFICATION)),
    ];
    let rows = figures.into_iter().filter_map(|(label, figure)| {
        let mut sources = sources.clone();
        if contest.labels.len() < 3 || figure.than.is_none() {
            for source in &mut sources {
                source.beside = None;
            }
        }
        row(label, &sources, figure, notes)
    });
    Block { title: "Load".to_owned(), rows: rows.collect() }
}

impl<'s> Runs<'s> {
    fn blocks(&self, notes: &mut Footnotes) -> Vec<Block> {
        let Some(first) = self.any_run() else { return Vec::new() };
        let mut blocks: Vec<Block> =
            (0..first.roles.len()).map(|role| self.role(role, first, notes)).collect();
        if self.detail > Detail::Least {
            blocks.push(cost::block(self, notes));
        }
        blocks
    }

    fn sources(&self, threads: Option<u32>, role: usize, beside: bool) -> Vec<Source<'s>> {
        let source = |entry: Option<(&'s Group, &'s RunRow)>| {
            let row = entry.and_then(|(_, run)| run.roles.get(role));
            let beside = row.and_then(|row| row.relative.as_ref()).filter(|_| beside);
            Source {
                group: entry.map(|(group, _)| group),
                metrics: row.map(|row| &row.metrics),
                beside,
                validity: row.and_then(|row| row.validity.as_ref()),
            }
        };
        self.engine_runs(threads).into_iter().map(source).collect()
    }

    /// The figures of one of a role's operations.
    fn operation_sources(&self, threads: Option<u32>, role: usize, op: &str) -> Vec<Source<'s>> {
        let source = |entry: Option<(&'s Group, &'s RunRow)>| {
            let row = entry.and_then(|(_, run)| run.roles.get(role));
            let operation =
                row.and_then(|row| row.metrics_by_operation().find(|(name, _)| *name == op));
            Source {
                group: entry.map(|(group, _)| group),
                metrics: operation.map(|(_, metrics)| metrics),
                beside: None,
                validity: None,
            }
        };
        self.engine_runs(threads).into_iter().map(source).collect()
    }

    /// p99 of each operation of a role that does several, and p50 where there is room.
    fn times_by_operation(&self, at: usize, role: &RoleRow, notes: &mut Footnotes) -> Vec<Row> {
        let last = self.headline();
        let p50 = if role.open_loop { &c::RESPONSE_P50 } else { &c::SERVICE_P50 };
        let than = (self.contest.labels.len() == 2).then_some(TIME);
        let p99 = Figure { definition: role.p99(), than };
        let figures = [("p50", Figure::uncompared(p50)), ("p99", p99)];
        let room = self.detail == Detail::All && role.ops.len() <= OPERATIONS_MAX / 2;
        let shown = &figures[usize::from(!room)..];
        let threads = last.map_or_else(String::new, |threads| format!(" @{threads}"));
        let mut rows = Vec::new();
        for op in role.ops.iter().take(OPERATIONS_MAX) {
            let sources = self.operation_sources(last, at, &op.op);
            for (name, figure) in shown {
                let label = format!("{} {name} us{threads}", op.op);
                rows.extend(row(label, &sources, *figure, notes));
            }
        }
        if role.open_loop {
            let sources = self.sources(last, at, false);
            rows.extend(row("done/s", &sources, Figure::uncompared(&c::OPS_PER_S), notes));
        }
        let more = role.ops.len().saturating_sub(OPERATIONS_MAX);
        if more > 0 {
            notes.mark(&format!("{}: p99 of {more} more operations: --table run", role.role));
        }
        rows
    }

    fn role(&self, at: usize, first: &RunRow, notes: &mut Footnotes) -> Block {
        let role = &first.roles[at];
        let mut rows: Vec<Row> = Vec::new();
        let several = self.contest.labels.len() > 2;
        let rates = if role.open_loop && role.is_mix() { &[] } else { self.shown };
        for threads in rates {
            let figure = if role.open_loop {
                Figure { definition: &c::RESPONSE_P99, than: Some(TIME) }
            } else {
                Figure { definition: &c::OPS_PER_S, than: Some(RATE) }
            };
            let sources = self.sources(*threads, at, several && !role.open_loop);
            let label = self.row_label(*threads, at);
            let label = if role.open_loop { format!("{label}: p99 us") } else { label };
            let mut new_row = row(label, &sources, figure, notes);
            if let Some(row) = new_row.as_mut().filter(|_| role.open_loop) {
                self.mark_waits(&role.role, &sources, &mut row.cells, notes);
            }
            rows.extend(new_row);
        }
        rows.extend(self.burst(at, notes));
        rows.extend(if role.is_mix() {
            self.times_by_operation(at, role, notes)
        } else {
            self.times(at, role, notes)
        });
        // The name of a phase that the suite did not name says nothing.
        let unnamed = self.contest.phases().len() == 1 || self.phase == "measure";
        let phase = if unnamed { String::new() } else { format!("{}: ", self.phase) };
        Block { title: format!("{phase}{}", title(role)), rows }
    }

    /// Marks response times that the null engine has, too: waits for a CPU are in them.
    fn mark_waits(
        &self,
        role: &str,
        sources: &[Source<'_>],
        cells: &mut [String],
        notes: &mut Footnotes,
    ) {
        let p99 = |metrics: &Metrics| metrics.value(&c::RESPONSE_P99);
        for (source, cell) in sources.iter().zip(cells) {
            let alone = source.group.and_then(|group| self.null_role(group, role));
            let both =
                alone.and_then(|alone| p99(&alone.metrics)).zip(source.metrics.and_then(p99));
            if both.is_some_and(|(alone, engine)| (0.5..=2.0).contains(&(engine / alone))) {
                *cell += &format!(" {}", notes.mark(WAITS));
            }
        }
    }

    /// The null engine's row of a role, beside a group.
    fn null_role(&self, beside: &Group, role: &str) -> Option<&'s RoleRow> {
        let setting = |group: &Group| (group.threads, group.ram(), group.volume.clone());
        let mut groups = self.contest.summary.groups.iter().filter(|group| {
            group.stores_nothing
                && group.part == beside.part
                && group.data_sizes() == beside.data_sizes()
                && setting(group) == setting(beside)
        });
        let run = groups.find_map(|group| group.runs.iter().find(|run| run.phase == self.phase))?;
        run.roles.iter().find(|other| other.role == role)
    }

    /// The rate of the window alone, where an engine left much of its work behind.
    fn burst(&self, at: usize, notes: &mut Footnotes) -> Option<Row> {
        let threads = self.headline();
        let sources = self.sources(threads, at, false);
        let is_much = |source: &Source<'_>| source.validity.is_some_and(Validity::is_deferred);
        let label = threads.map_or("burst".to_owned(), |threads| format!("at {threads}: burst"));
        sources
            .iter()
            .any(is_much)
            .then(|| row(label, &sources, Figure::uncompared(&c::BURST_OPS_PER_S), notes))?
    }

    /// Percentiles at the largest number of threads.
    fn times(&self, at: usize, role: &RoleRow, notes: &mut Footnotes) -> Vec<Row> {
        let last = self.headline();
        let writes_alone = role.does.writes && !role.does.reads;
        let figures: Vec<(&str, Figure)> = if role.open_loop {
            vec![
                ("p50 us", Figure::uncompared(&c::RESPONSE_P50)),
                ("p99.9 us", Figure::uncompared(&c::RESPONSE_P999)),
                ("done/s", Figure::uncompared(&c::OPS_PER_S)),
            ]
        } else {
            let p99 = Figure {
                definition: &c::SERVICE_P99,
                than: (self.contest.labels.len() == 2).then_some(TIME),
            };
            vec![
                ("p50 us", Figure::uncompared(&c::SERVICE_P50)),
                ("p99 us", p99),
                ("p99.9 us", Figure::uncompared(&c::SERVICE_P999)),
            ]
        };
        let is_selected = |name: &str| match self.detail {
            Detail::All => !writes_alone || role.open_loop || name == "p99 us",
            _ => name == "p99 us" || (role.open_loop && name == "done/s"),
        };
        let figures = figures.into_iter().filter(|(name, _)| is_selected(name));
        let sources = self.sources(last, at, false);
        let mut has_prefix = false;
        let mut rows = Vec::new();
        for (name, figure) in figures {
            let label = match (last, has_prefix) {
                (Some(threads), false) => format!("at {threads}: {name}"),
                (Some(threads), true) => {
                    format!("{:width$}{name}", "", width = format!("at {threads}: ").len())
                }
                (None, _) => name.to_owned(),
            };
            let new_rows = row(label, &sources, figure, notes);
            has_prefix |= new_rows.is_some();
            rows.extend(new_rows);
        }
        rows
    }

    /// `4 threads`; for a role with a fixed number, beside a swept one: `with 4 readers`.
    fn row_label(&self, threads: Option<u32>, at: usize) -> String {
        let entry = self.engine_runs(threads).into_iter().flatten().next();
        let groups = self.contest.groups.iter().copied();
        entry.map_or_else(String::new, |(group, run)| threads_in_words(&groups, group, run, at))
    }
}

/// Returns a name with a capital first letter.
pub(super) fn capitalise(name: &str) -> String {
    match name.get(..1) {
        Some(first) => format!("{}{}", first.to_uppercase(), &name[1..]),
        None => name.to_owned(),
    }
}

/// `Readers, get/s`; with an offered rate `Readers at 2,000/s`.
fn title(role: &RoleRow) -> String {
    let name = capitalise(&role.role);
    match role.offered_rate() {
        Some(rate) => format!("{name} at {}/s", format_count(rate)),
        None => format!("{name}, {}/s", role.mix),
    }
}
