//! A case over its trials: one row of the load table, and several of the run table.

mod outcomes;
mod peers;
mod role;

use super::catalogue as c;
use super::efficiency::standing::Efficiency;
use super::evidence::CaseEvidence;
use super::job::DriveJob;
use super::metric::Metrics;
pub use super::naming::without_part;
use super::relative::RelativeTo;
use super::scatter::Scatter;
use super::trials::Trials;
use super::validity::{self, Validity};
use super::windows::TrialWindows;
use super::{cost, instructions};
use kvdyno_record::engine::{Durability, PowerLoss};
use kvdyno_record::files::RecordError;
use kvdyno_record::host::Host;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_record::work::{Purpose, Work};
use kvdyno_record::workload::{self, Mix, Phase, PhaseWindow};
pub use peers::PhasePeers;
use schemars::JsonSchema;
use serde::Serialize;

/// A case over its trials.
#[expect(clippy::struct_excessive_bools, reason = "each says what it is, and several may hold")]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// The cases' common key: equal keys, equal work.
    pub key: String,
    /// The worker's engine.
    pub engine: String,
    /// The engine's name in tables.
    pub label: String,
    /// The part of the suite that it belongs to, which ends its label; null: the suite has none.
    pub part: Option<String>,
    /// The durability class of its writes.
    pub durability: Durability,
    /// What a power loss does to its completed writes; null: no worker was found.
    pub power_loss: Option<PowerLoss>,
    /// Whether it stores nothing: its figures are then the load generator's own.
    pub stores_nothing: bool,
    /// Whether it is a bare drive: its figures are the drive's, and no engine is compared with it.
    pub bare_drive: bool,
    /// Whether its instructions are counted beside the times of other cases, which they explain.
    pub explains: bool,
    /// Whether its figures are the limit that engines are compared with.
    pub ceiling: bool,
    /// The swept number of threads, or that of all roles where none is swept; null: it only loads.
    pub threads: Option<u32>,
    /// The swept number of threads; null: none is swept.
    pub threads_swept: Option<u32>,
    /// Records after the load.
    pub records: u64,
    /// Length of every key.
    pub key_bytes: u32,
    /// Mean length of a value.
    pub value_bytes_mean: u64,
    /// Bytes of keys and values of all records.
    pub user_bytes: u64,
    /// The suite's name of the volume of its database; null: it has none.
    pub volume: Option<String>,
    /// The requested RAM limit; null: there is none.
    pub ram_limit_bytes: Option<u64>,
    /// The suite's name of the memory tier below that limit; null: there is none.
    pub tier: Option<String>,
    /// The memory tier's name, also where that tier is more of the same memory.
    #[serde(skip)]
    pub(crate) tier_name: Option<String>,
    /// Whether the tier was as requested in every trial; null: no tier, or no trial started yet.
    pub tier_held: Option<bool>,
    /// Whether a cgroup enforced the limit in every trial that started; null: there is no limit, or
    /// no trial started yet.
    pub ram_limit_held: Option<bool>,
    /// Two figures that differ by less than this share are equal.
    pub within: f64,
    /// Its trials, in order.
    pub trials: Vec<Trial>,
    /// Its load; null where another case's database is used.
    pub load: Option<LoadRow>,
    /// Its measured phases.
    pub runs: Vec<RunRow>,
    /// The finding that makes its figures invalid; null: they are valid.
    pub(crate) void: Option<String>,
    /// The key that loads with the same work share, on any engine.
    #[serde(skip)]
    pub load_peers: String,
    /// Whether its load in batches commits each record by itself.
    #[serde(skip)]
    pub(crate) commits_singly: bool,
    /// The key that loads of the same engine share where they differ only in the volume.
    #[serde(skip)]
    pub(crate) load_on_volumes: String,
    /// The key of all that its work leaves open: the engine and its settings.
    #[serde(skip)]
    pub(crate) setup: String,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trial {
    /// The case's id.
    pub case: String,
    /// Its number, from 1.
    pub trial: u32,
    /// Whether it ran to its end and every check passed.
    pub done: bool,
    /// Its outcome, in a table's words.
    pub outcome: String,
    /// The outcome's message; null: it has none.
    pub message: Option<String>,
    /// What was not enforced or not measured.
    pub not_measured: Vec<String>,
}

/// A load, with the settling after it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadRow {
    /// The phase's name.
    pub phase: String,
    /// Threads that loaded.
    pub threads: u32,
    /// The phase that waits for the work that it left behind; null: none.
    pub settle: Option<String>,
    /// Whether the RAM limit began only after it.
    pub before_limit: bool,
    /// Its figures.
    pub metrics: Metrics,
    /// Records per second over the base engine's.
    pub relative: Option<RelativeTo>,
    /// Records per second over its own on the first volume; null: the suite names no volume.
    pub relative_volume: Option<RelativeTo>,
}

/// A measured phase: the costs of the whole, and the figures of each role.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunRow {
    /// The phase's name.
    pub phase: String,
    /// The longer phase that it is a window of.
    #[serde(skip)]
    pub window: Option<PhaseWindow>,
    /// The phase that waits for the work that it left behind; null: none.
    pub settle: Option<String>,
    /// Its costs, all roles together.
    pub metrics: Metrics,
    /// Its roles.
    pub roles: Vec<RoleRow>,
    /// The block device whose counters were read; null: none.
    pub device: Option<String>,
    /// The job of a bare drive, and how it ran; null: an engine.
    pub job: Option<DriveJob>,
    /// Its efficiency against the drive; null: no engine under test.
    pub efficiency: Option<Efficiency>,
    /// Why its costs per operation cannot be compared with those of other engines at the same work,
    /// since their operations turned out different; null: they can.
    pub different_mix: Option<String>,
    /// Keys of the work up to and including it.
    #[serde(skip)]
    pub peers: PhasePeers,
}

/// The figures of one role.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoleRow {
    /// The role's name.
    pub role: String,
    /// Its threads.
    pub threads: u32,
    /// Operations that each thread keeps in flight; null: it waits for each call.
    pub depth: Option<u32>,
    /// Whether it works on a schedule: its response times count then.
    pub open_loop: bool,
    /// Whether it has a rate or pauses: it did what it was asked for, and not what it could.
    pub paced: bool,
    /// Its operations' names, joined.
    pub mix: String,
    /// Its figures, all operations together.
    pub metrics: Metrics,
    /// Whether its rate lasts; null: it works on a schedule, or its phases had too few slices.
    pub validity: Option<Validity>,
    /// Operations per second over the base engine's.
    pub relative: Option<RelativeTo>,
    /// Operations per second over its engine's on the first volume; null: no volume is named.
    pub relative_volume: Option<RelativeTo>,
    /// On a schedule, with one kind of operation: the p99 of response times over the base engine's.
    pub relative_response: Option<RelativeTo>,
    /// Where the scatter of `relative` comes from; null: it is the base's own, or too few trials.
    pub scatter: Option<Scatter>,
    /// Each operation by itself, where the role has several.
    pub ops: Vec<OpRow>,
    /// Its trials, part by part.
    #[serde(skip)]
    pub(crate) windows: Vec<TrialWindows>,
    /// The kinds of its operations.
    #[serde(skip)]
    pub does: Does,
}

/// The kinds of operations that a role has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Does {
    /// Whether some operations read.
    pub reads: bool,
    /// Whether some operations write.
    pub writes: bool,
}

/// The figures of one operation of a role.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpRow {
    /// The operation.
    pub op: String,
    /// Its figures.
    pub metrics: Metrics,
    /// On a schedule: the p99 of response times over the base engine's.
    pub relative_response: Option<RelativeTo>,
}

impl Group {
    /// Reads a case over its trials. `cases` have one key and are not empty.
    pub(crate) fn read(
        cases: &[&CaseEvidence],
        host: &Host,
        plan: &Plan,
    ) -> Result<Self, RecordError> {
        let trials = Trials::read(cases)?;
        let mut group = Self::new(&cases[0].case, &trials, host, plan);
        group.explains = plan.is_beside(&cases[0].case);
        validity::judge(&mut group, cases)?;
        Ok(group)
    }

    fn new(case: &Case, trials: &Trials<'_>, host: &Host, plan: &Plan) -> Self {
        let work = Work::from_case(case, plan);
        let mut peers = PhasePeers::from_work(&work);
        let measured = case.phases.iter().filter_map(|phase| match &phase.work {
            workload::Activity::Measure(mix) => {
                let peers = peers.remove(&phase.name).unwrap_or_default();
                Some(run_row(trials, case, phase, mix, host, peers))
            }
            _ => None,
        });
        let equal = |purpose| work.equal(purpose).to_string();
        let bare_drive = case.ceiling || trials.cases.iter().any(|(case, _)| case.is_bare_drive());
        let singly = trials.cases.iter().any(|(case, _)| case.commits_singly());
        let packed = case.data.packed;
        let mut group = Self {
            key: case.key.clone(),
            engine: case.engine.clone(),
            label: case.label.clone(),
            part: case.part.clone(),
            durability: case.options.durability,
            power_loss: trials.cases.iter().find_map(|(case, _)| case.power_loss()),
            stores_nothing: trials.cases.iter().any(|(case, _)| case.stores_nothing()),
            bare_drive,
            explains: false,
            ceiling: case.ceiling,
            threads: case.threads,
            threads_swept: case.threads_swept,
            // Packed or not, the number of records is the same.
            records: packed.map_or(case.data.records, |packed| packed.records),
            key_bytes: case.data.key.bytes,
            value_bytes_mean: case.value_bytes_mean()
                / packed.map_or(1, |packed| u64::from(packed.each)),
            user_bytes: case.user_bytes(),
            volume: case.volume.as_ref().map(|volume| volume.name.clone()),
            ram_limit_bytes: case.ram_limit_bytes,
            ram_limit_held: ram_limit_held(trials),
            tier: case.tier_below().map(|tier| tier.name.clone()),
            tier_name: case.tier.as_ref().map(|tier| tier.name.clone()),
            tier_held: case.tier_below().and_then(|_| is_tier_held(trials)),
            within: plan.within,
            trials: trials.cases.iter().map(|(case, _)| trial(case)).collect(),
            load: load_row(case, trials, host),
            runs: measured.collect(),
            void: None,
            load_peers: equal(Purpose::EnginesLoading) + if singly { " one by one" } else { "" },
            commits_singly: singly,
            load_on_volumes: equal(Purpose::VolumesLoading),
            setup: peers::setup(case),
        };
        if case.is_counted() {
            instructions::replace_times(&mut group, trials);
        }
        group
    }

    /// The number of each of its trials.
    pub fn trial_numbers(&self) -> Vec<u32> {
        self.trials.iter().map(|trial| trial.trial).collect()
    }

    /// A measured phase by its name.
    pub fn run(&self, phase: &str) -> Option<&RunRow> {
        self.runs.iter().find(|run| run.phase == phase)
    }

    /// The suite's name of its engine, without the part.
    pub fn engine_label(&self) -> &str {
        without_part(&self.label, self.part.as_deref())
    }

    /// Whether its engine has this name: its own, or the suite's.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        [self.engine_label(), &self.engine].contains(&name)
    }

    /// What a power loss does to its completed writes, in words; empty: not known.
    pub fn power_loss_in_words(&self) -> &'static str {
        self.power_loss.map_or("", PowerLoss::as_str)
    }

    /// Whether a finding makes its figures invalid.
    pub fn is_void(&self) -> bool {
        self.void.is_some()
    }

    /// Why its figures are void, in words; none: they are valid.
    pub(crate) fn describe_void(&self) -> Option<String> {
        self.void.as_ref().map(|finding| format!("void: {finding}"))
    }

    /// Its memory: `64.0 MiB`, `64.0 MiB with zram`, `all`.
    pub fn ram(&self) -> String {
        let limit = self.ram_limit_bytes.map_or_else(|| "all".to_owned(), units::bytes);
        match &self.tier {
            Some(tier) => format!("{limit} with {tier}"),
            None => limit,
        }
    }

    /// Whether its memory was as planned, as far as is known.
    pub fn is_held(&self) -> bool {
        self.ram_limit_held != Some(false) && self.tier_held != Some(false)
    }

    /// Number of records, length of a key and of a mean value: equal sizes mean equal data.
    pub fn data_sizes(&self) -> (u64, u32, u64) {
        (self.records, self.key_bytes, self.value_bytes_mean)
    }

    /// Whether instructions were counted in place of times.
    pub fn is_counted(&self) -> bool {
        let runs = self.runs.iter().map(|run| &run.metrics);
        let mut all = runs.chain(self.load.iter().map(|load| &load.metrics));
        all.any(|metrics| metrics.get(&c::INSTRUCTIONS_PER_OP).is_some())
    }

    /// Whether it is an engine under test: neither the load generator alone nor a bare drive, nor
    /// what explains others.
    pub fn competes(&self) -> bool {
        !self.stores_nothing && !self.bare_drive && !self.explains
    }
}

fn is_tier_held(trials: &Trials<'_>) -> Option<bool> {
    let records = trials.cases.iter().filter_map(|(case, _)| case.record.as_ref());
    let tiers = records.filter_map(|record| record.ram_limit.tier.as_ref());
    tiers.map(|tier| tier.not_enforced.is_empty()).reduce(|all, held| all && held)
}

fn ram_limit_held(trials: &Trials<'_>) -> Option<bool> {
    let records = trials.cases.iter().filter_map(|(case, _)| case.record.as_ref());
    let limits = records
        .filter(|record| record.worker.is_some() && !record.phases.is_empty())
        .map(|record| &record.ram_limit)
        .filter(|limit| limit.requested_bytes.is_some());
    limits.map(|limit| limit.enforced_by.is_some()).reduce(|all, held| all && held)
}

fn trial(case: &CaseEvidence) -> Trial {
    let record = case.record.as_ref();
    let message = record.and_then(|record| record.outcome.message()).map(str::to_owned);
    Trial {
        case: case.case.id.clone(),
        trial: case.case.trial,
        done: case.is_done(),
        outcome: case.outcome(),
        message: message.or_else(|| case.damaged.clone()),
        not_measured: record.map(|record| record.not_measured.clone()).unwrap_or_default(),
    }
}

fn load_row(case: &Case, trials: &Trials<'_>, host: &Host) -> Option<LoadRow> {
    let index =
        case.phases.iter().position(|phase| matches!(phase.work, workload::Activity::Load(_)))?;
    let workload::Activity::Load(load) = &case.phases[index].work else { return None };
    let phase = case.phases[index].name.clone();
    let settle = settle_after(case, &phase);
    let metrics = cost::load_metrics(trials, &phase, settle, host);
    let settle = settle.map(str::to_owned);
    let (threads, before_limit) = (load.threads, case.ram_limit_from > 0);
    let (relative, relative_volume) = (None, None);
    Some(LoadRow { phase, threads, settle, before_limit, metrics, relative, relative_volume })
}

/// The phase that waits for the work that `phase` left behind.
fn settle_after<'c>(case: &'c Case, phase: &str) -> Option<&'c str> {
    let mut phases = case.phases.iter().skip_while(|other| other.name != phase).skip(1);
    let next = phases.next()?;
    matches!(next.work, workload::Activity::Settle { .. }).then_some(next.name.as_str())
}

fn run_row(
    trials: &Trials<'_>,
    case: &Case,
    planned: &Phase,
    mix: &Mix,
    host: &Host,
    peers: PhasePeers,
) -> RunRow {
    let phase = planned.name.as_str();
    let device = |case: &&CaseEvidence| {
        let before = case.phase(phase).ok()?.before.device.as_ref()?;
        Some(before.device.clone())
    };
    let settle = settle_after(case, phase);
    let deferred = trials.deferred_ns(phase, settle);
    RunRow {
        phase: phase.to_owned(),
        window: planned.window.clone(),
        settle: settle.map(str::to_owned),
        metrics: cost::measure_metrics(trials, phase, settle, host),
        roles: mix.roles.iter().map(|role| role::row(trials, phase, role, &deferred)).collect(),
        device: trials.cases.iter().find_map(|(case, _)| device(case)),
        job: trials.cases.iter().find_map(|(ran, _)| DriveJob::from_case(case, ran, phase, mix)),
        efficiency: None,
        different_mix: None,
        peers,
    }
}

/// The data of a group in a few words: `80 M x 16+4000`.
pub fn data(group: &Group) -> String {
    let records = units::count(group.records);
    format!("{records} x {}+{}", group.key_bytes, group.value_bytes_mean)
}
