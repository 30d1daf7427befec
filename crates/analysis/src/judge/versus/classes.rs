//! What a stronger promise costs: every engine of a run that has two durability classes.

use super::{Question, Record, Refusal, Sides, Versus};
use crate::figures::engines::EngineInfo;
use kvdyno_record::engine::Durability;
use serde::Serialize;

/// Engines in two durability classes, each compared with itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassComparison {
    /// The run's id.
    pub run: String,
    /// The base's class, and the class that is compared with it.
    pub classes: [Durability; 2],
    /// The engines that have both, in the order of the plan.
    pub engines: Vec<EngineClasses>,
    /// Engines that have only one of them, by their labels.
    pub left_out: Vec<String>,
}

/// An engine in two durability classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineClasses {
    /// Its label without the class.
    pub engine: String,
    /// Its trials in the one class against those in the other, pair by pair.
    pub versus: Versus,
}

impl ClassComparison {
    /// Compares every engine of a run that has both classes.
    pub fn compare(
        run: &Record,
        classes: [Durability; 2],
        question: &Question,
    ) -> Result<Self, Refusal> {
        let [base, new] = classes.map(|class| list_engines(&run.figures.engines, class));
        let (mut engines, mut paired) = (Vec::new(), Vec::new());
        for one in &base {
            let Some(other) = find_counterpart(one, &base, &new) else { continue };
            let sides = Sides::engines(run, &one.label, &other.label);
            let versus = Versus::compare(&sides, question)?;
            engines.push(EngineClasses { engine: label_without_class(one), versus });
            paired.extend([&one.label, &other.label]);
        }
        let all = base.iter().chain(&new).map(|info| &info.label);
        let left_out = all.filter(|label| !paired.contains(label)).cloned().collect();
        Ok(Self { run: run.figures.run.id.clone(), classes, engines, left_out })
    }
}

/// The engines of a class that store something for themselves.
fn list_engines(engines: &[EngineInfo], class: Durability) -> Vec<&EngineInfo> {
    let stores = |info: &EngineInfo| {
        info.worker.as_ref().is_none_or(|worker| !worker.stores_nothing && !worker.bare_drive)
    };
    engines.iter().filter(|info| info.durability == class && stores(info)).collect()
}

/// The same engine in the other class: by its label, or the only one where the suite has labels of
/// its own.
fn find_counterpart<'e>(
    engine: &EngineInfo,
    base: &[&EngineInfo],
    new: &[&'e EngineInfo],
) -> Option<&'e EngineInfo> {
    let is_same = |info: &&&EngineInfo| info.engine == engine.engine;
    let by_label = new
        .iter()
        .filter(is_same)
        .find(|info| label_without_class(info) == label_without_class(engine));
    let single = base.iter().filter(is_same).count() == 1;
    let mut others = new.iter().filter(is_same);
    let only = others.next().filter(|_| single && others.next().is_none());
    by_label.or(only).copied()
}

/// The label without its class: `rocksdb` for `rocksdb-async`.
fn label_without_class(info: &EngineInfo) -> String {
    info.label.replacen(&format!("-{}", info.durability.as_str()), "", 1)
}
