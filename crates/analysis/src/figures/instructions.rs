//! Counts of instructions by valgrind, in place of times.

use super::catalogue as c;
use super::group::Group;
use super::metric::{Definition, Metric, Metrics, Reading};
use super::spent::quotient;
use super::trials::Trials;

/// The other figures that have a meaning under valgrind: the operations, and the final data.
const KEPT: [&Definition; 9] = [
    &c::OPERATIONS,
    &c::FOUND,
    &c::WRONG,
    &c::ERRORS,
    &c::RETRIES,
    &c::DATABASE_USED,
    &c::DATABASE_APPARENT,
    &c::SPACE_AMPLIFICATION,
    &c::DATA_TO_RAM,
];

/// Replaces the figures of time and of the machine with those of instructions.
pub(crate) fn replace_times(group: &mut Group, trials: &Trials<'_>) {
    let per_op = |phase: &str| -> Vec<Reading> {
        trials.phase_readings(phase, |spent, case| {
            let instructions =
                spent.phase.instructions.ok_or("valgrind left no count of this phase")?;
            quotient(instructions as f64, spent.done(&case.case.data), "nothing was done")
        })
    };
    if let Some(load) = &mut group.load {
        remove_time_metrics(&mut load.metrics);
        load.metrics.add(&c::INSTRUCTIONS_PER_OP, per_op(&load.phase));
    }
    for run in &mut group.runs {
        let readings = per_op(&run.phase);
        remove_time_metrics(&mut run.metrics);
        run.metrics.add(&c::INSTRUCTIONS_PER_OP, readings);
        for role in &mut run.roles {
            remove_time_metrics(&mut role.metrics);
            role.ops.iter_mut().for_each(|op| remove_time_metrics(&mut op.metrics));
        }
    }
}

fn remove_time_metrics(metrics: &mut Metrics) {
    metrics.0.retain(|metric| KEPT.iter().any(|definition| definition.name == metric.name));
}

/// Subtracts the load generator's part: the null engine's instructions at the same work.
pub(crate) fn subtract_load_generator(groups: &mut [Group]) {
    let null: Vec<Group> = groups.iter().filter(|group| group.stores_nothing).cloned().collect();
    for group in groups.iter_mut().filter(|group| group.competes()) {
        if let Some(load) = &mut group.load {
            let loads = null.iter().filter(|null| null.load_peers == group.load_peers);
            let load_generator =
                loads.filter_map(|null| null.load.as_ref()).map(|load| &load.metrics).next();
            add_engines_part(&mut load.metrics, load_generator);
        }
        for run in &mut group.runs {
            let mut runs = null.iter().filter_map(|null| null.run(&run.phase));
            let load_generator = runs.find(|other| other.peers.engines == run.peers.engines);
            add_engines_part(
                &mut run.metrics,
                load_generator.map(|load_generator| &load_generator.metrics),
            );
        }
    }
}

/// Adds the engine's part of the instructions. `load_generator`: the null engine's figures.
fn add_engines_part(metrics: &mut Metrics, load_generator: Option<&Metrics>) {
    let Some(all) = metrics.get(&c::INSTRUCTIONS_PER_OP) else { return };
    let load_generator =
        load_generator.and_then(|load_generator| load_generator.value(&c::INSTRUCTIONS_PER_OP));
    let part = |all: &Option<f64>| match (all, load_generator) {
        (Some(all), Some(load_generator)) => Ok(all - load_generator),
        (_, None) => Err("the null engine did not do the same work".into()),
        (None, _) => Err("valgrind left no count of this phase".into()),
    };
    let readings: Vec<Reading> = all.per_trial.iter().map(part).collect();
    metrics.0.push(Metric::new(&c::ENGINE_INSTRUCTIONS_PER_OP, readings));
}
