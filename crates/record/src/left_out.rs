//! Parts of a suite that a machine cannot run, and the sentences about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cells of the suite's tables that stay empty, because this machine lacks what they need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The part of the suite; null: the suite has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The engine, by its label without the part; `drive` is the bare drive.
    pub engine: String,
    /// The volume; null: none, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The memory tier; null: none, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The phase; null: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Why they stay empty, and what would help.
    pub reason: String,
}

impl LeftOut {
    fn volume_or_tier(&self) -> Option<&str> {
        self.volume.as_ref().or(self.tier.as_ref()).map(String::as_str)
    }
}

/// Returns sentences such as `part a: lmdb, rocksdb are not run on x, y: why`; entries with the
/// same reason share one.
pub fn sentences(left_out: &[LeftOut]) -> Vec<String> {
    let mut all: Vec<Sentence<'_>> = left_out.iter().map(Sentence::from_left_out).collect();
    // First the volumes of an engine are merged, then its phases, the engines, and the parts.
    all =
        merge_sentences(all, |a, b| a.is_like(b, &[PARTS, ENGINES, PHASES]), |a| &mut a.lists[ON]);
    all =
        merge_sentences(all, |a, b| a.is_like(b, &[PARTS, ENGINES, ON]), |a| &mut a.lists[PHASES]);
    all =
        merge_sentences(all, |a, b| a.is_like(b, &[PARTS, ON, PHASES]), |a| &mut a.lists[ENGINES]);
    all =
        merge_sentences(all, |a, b| a.is_like(b, &[ENGINES, ON, PHASES]), |a| &mut a.lists[PARTS]);
    all.iter().map(Sentence::to_text).collect()
}

struct Sentence<'l> {
    /// Parts, engines, volumes or tiers, phases.
    lists: [Vec<&'l str>; 4],
    why: &'l str,
}

const PARTS: usize = 0;
const ENGINES: usize = 1;
const ON: usize = 2;
const PHASES: usize = 3;

/// Merges sentences that are alike and have the same reason: what they do not share becomes a list.
fn merge_sentences<'l>(
    all: Vec<Sentence<'l>>,
    is_alike: impl Fn(&Sentence<'l>, &Sentence<'l>) -> bool,
    list: impl for<'s> Fn(&'s mut Sentence<'l>) -> &'s mut Vec<&'l str>,
) -> Vec<Sentence<'l>> {
    let mut merged: Vec<Sentence<'l>> = Vec::new();
    for mut one in all {
        let matches = |other: &&mut Sentence<'l>| other.why == one.why && is_alike(other, &one);
        match merged.iter_mut().find(matches) {
            Some(other) => {
                let more = std::mem::take(list(&mut one));
                let other = list(other);
                other.extend(
                    more.into_iter().filter(|word| !other.contains(word)).collect::<Vec<_>>(),
                );
            }
            None => merged.push(one),
        }
    }
    merged
}

impl<'l> Sentence<'l> {
    fn from_left_out(entry: &'l LeftOut) -> Self {
        let lists = [
            entry.part.iter().map(String::as_str).collect(),
            vec![entry.engine.as_str()],
            entry.volume_or_tier().into_iter().collect(),
            entry.phase.iter().map(String::as_str).collect(),
        ];
        Self { lists, why: &entry.reason }
    }

    fn is_like(&self, other: &Self, lists: &[usize]) -> bool {
        lists.iter().all(|&list| self.lists[list] == other.lists[list])
    }

    fn to_text(&self) -> String {
        let [parts, engines, on, phases] = &self.lists;
        let parts = match &parts[..] {
            [] => String::new(),
            [part] => format!("part {part}: "),
            parts => format!("parts {}: ", parts.join(", ")),
        };
        let are = if engines.len() == 1 { "is" } else { "are" };
        let quoted = |before: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            if names.is_empty() { String::new() } else { format!(" {before} {}", names.join(", ")) }
        };
        let (phases, on) = (quoted("in", phases), quoted("on", on));
        format!("{parts}{} {are} not run{phases}{on}: {}", engines.join(", "), self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_one_reason_is_one_sentence() {
        let entry = |part: Option<&str>, engine: &str, volume: Option<&str>, why: &str| LeftOut {
            part: part.map(str::to_owned),
            engine: engine.to_owned(),
            volume: volume.map(str::to_owned),
            tier: None,
            phase: None,
            reason: why.to_owned(),
        };
        let all = [
            entry(None, "a", Some("x"), "gone"),
            entry(None, "b", Some("x"), "gone"),
            entry(None, "c", Some("z"), "gone"),
            entry(None, "a", Some("y"), "gone"),
            entry(None, "b", Some("y"), "gone"),
            entry(None, "a", None, "no worker"),
        ];
        assert_eq!(
            sentences(&all),
            [
                "a, b are not run on `x`, `y`: gone",
                "c is not run on `z`: gone",
                "a is not run: no worker"
            ]
        );
        let parts =
            [entry(Some("p"), "a", Some("x"), "gone"), entry(Some("q"), "a", Some("x"), "gone")];
        assert_eq!(sentences(&parts), ["parts p, q: a is not run on `x`: gone"]);
        let phase = |engine: &str, phase: &str| LeftOut {
            phase: Some(phase.to_owned()),
            ..entry(None, engine, None, "no scan")
        };
        let phases = [phase("a", "e"), phase("a", "f"), phase("b", "e"), phase("b", "f")];
        assert_eq!(sentences(&phases), ["a, b are not run in `e`, `f`: no scan"]);
    }
}
