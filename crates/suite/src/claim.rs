//! `[[claim]]`: a sentence about a run's figures, and what must be so for it to hold. It is read
//! and checked with the suite; whether it holds is told from the record (`kvdyno-analysis`).

mod grammar;
mod names;

pub(super) use names::Names;

use super::mistake::Mistakes;
use super::read::{At, FromToml as _, Toml, table, wrong_kind};
use super::scale::PAGE;
use super::source::Span;
use grammar::Unread;
use kvdyno_record::claim::{Cell, Claim, Need, Window};
use kvdyno_record::known::FIGURES;
use kvdyno_record::text::steers;
use kvdyno_record::units::{self, Ratio};
use kvdyno_record::workload::window_of;
use schemars::JsonSchema;
use toml::de::{DeTable, DeValue};

/// Characters of a claim's text.
const TEXT_MAX: usize = 300;

/// What can be needed.
const NEEDS: [&str; 8] =
    ["engine", "volume", "part", "tier", "threads", "cpus", "memory", "data_to_ram"];

/// A statement about the figures of a run. Unknown engines and figures are errors of the suite.
///
/// A cell is
/// `[PART:]PHASE[-wN][.ROLE[.OP]].ENGINE[@VOLUME][%TIER][#THREADS][/RAM][*RECORDS].FIGURE`.
/// Examples: `load.lmdb.wall_ns`, `measure.readers.lmdb@ext4#8.ops_per_s`,
/// `large:load.lmdb*100M.wall_ns`, `measure.readers.rocksdb/64GiB#max.service_ns_p99`. `#8`,
/// `#1..8` and `#max` select from the swept thread counts. A job of `[drive]` stands for an engine:
/// `measure.randread-4k-qd1.ops_per_s`. `PHASE-w2` is the second window, and `PHASE-wmax` is the
/// last measured one. docs/exports.md has the figures. `--scale` scales the records and RAM of
/// cells too.
///
/// A dimension that a cell omits is checked at every measured value: threads, volume, RAM limit and
/// window. The claim holds if it holds at all of them.
///
/// The verdict compares the medians over trials. From four trials on it uses a 95 % interval: the
/// extremes below six trials, else a bootstrap of whole trials. The claim holds if the interval
/// lies within the bounds. It does not hold if the interval lies outside. Otherwise the verdict is
/// `cannot tell here`. With fewer trials a ratio needs a distance of a factor of two from every
/// bound, and a difference has no verdict.
///
/// A cell without a measurement has no verdict either: `volume flash-raw was not measured`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Claim")]
pub(super) struct WrittenClaim {
    /// The statement, one line of at most 300 characters.
    text: At<String>,
    /// The condition: `SIDE in LOW..HIGH`, `SIDE > BOUND` or `SIDE < BOUND`. A side is `CELL`,
    /// `CELL / CELL` or `CELL - CELL`. A bound is a number with or without a unit, or a side.
    holds: At<String>,
    /// Conditions of a verdict: `"engine NAME"`, `"volume NAME"`, `"part NAME"`, `"tier NAME"`,
    /// `"threads N"`, `"cpus N"`, `"memory 64GiB"`, `"data_to_ram 4"`. Default: none.
    needs: Option<At<Vec<At<String>>>>,
}

table!(WrittenClaim, "[[claim]]": text holds needs);

/// Takes the claims out of a suite: its parts have none of their own.
pub(super) fn take_claims(suite: &mut DeTable<'_>, mistakes: &mut Mistakes) -> Vec<WrittenClaim> {
    let Some(claims) = suite.remove("claim") else { return Vec::new() };
    let span = claims.span();
    let claims: Vec<Toml<'_>> = match claims.into_inner() {
        DeValue::Array(claims) => claims.into_iter().collect(),
        other => {
            let _: Option<()> = wrong_kind(&span, &other, "a list: [[claim]]", mistakes);
            return Vec::new();
        }
    };
    claims.into_iter().filter_map(|claim| WrittenClaim::from_toml(claim, mistakes)).collect()
}

/// The claims, each with its mistakes under its line. Records and RAM that they name are scaled as
/// the suite's are.
pub(super) fn read(
    claims: &[WrittenClaim],
    names: &Names,
    scale: Ratio,
    mistakes: &mut Mistakes,
) -> Vec<Claim> {
    let mut claims: Vec<Claim> =
        claims.iter().filter_map(|claim| claim.checked(names, mistakes)).collect();
    for cell in claims.iter_mut().flat_map(|claim| grammar::cells_mut(&mut claim.relation)) {
        let of = |number: u64| scale.multiply(number).unwrap_or(u64::MAX).max(1);
        cell.records = cell.records.map(of);
        cell.ram_bytes = cell.ram_bytes.map(|bytes| of(bytes).max(PAGE));
    }
    claims
}

impl WrittenClaim {
    fn checked(&self, names: &Names, mistakes: &mut Mistakes) -> Option<Claim> {
        let text = &self.text;
        if text.trim().is_empty() || text.chars().any(steers) || text.chars().count() > TEXT_MAX {
            let mistake = mistakes.at(&text.span, "a claim's text is one line that says something");
            mistake.label(format!("expected 1 to {TEXT_MAX} characters, no line ends"));
        }
        let span = &self.holds.span;
        let written = match grammar::read(&self.holds) {
            Ok(written) => written,
            Err(Unread { word, expected }) => {
                let found = match word.as_str() {
                    "" => "the claim ends too early".to_owned(),
                    word => format!("`{word}` is not understood"),
                };
                mistakes.at(span, found).label(format!("expected {expected}")).help(grammar::HELP);
                return None;
            }
        };
        let mut relation = written;
        let mut known = true;
        for cell in grammar::cells_mut(&mut relation) {
            known &= check(cell, span, names, mistakes);
        }
        let needs = self.needs.iter().flat_map(|needs| &needs.value);
        let needs: Vec<Option<Need>> = needs.map(|need| needed(need, names, mistakes)).collect();
        let needs = needs.into_iter().collect::<Option<Vec<_>>>()?;
        known.then(|| Claim {
            text: text.value.clone(),
            holds: self.holds.split_whitespace().collect::<Vec<_>>().join(" "),
            relation,
            needs,
        })
    }
}

/// Tells the window of a phase apart from it, where the suite has one of that name: `hours-w7`,
/// `hours-wmax`.
fn take_window(cell: &mut Cell, names: &Names) {
    let is_phase = |name: &str| names.phases.iter().any(|known| known == name);
    let window = match cell.phase.strip_suffix("-wmax") {
        Some(phase) => Some((phase, Window::Last)),
        None => window_of(&cell.phase).map(|(phase, number)| (phase, Window::Number(number))),
    };
    let Some((phase, window)) = window.filter(|(phase, _)| is_phase(phase)) else { return };
    if !is_phase(&cell.phase) && window != Window::Number(0) {
        cell.window = Some(window);
        cell.phase = phase.to_owned();
    }
}

/// Notes names of a cell that the suite does not have. The path before the engine is told apart
/// here: labels may have points in them (`rocksdb-9.10.0`).
fn check(cell: &mut Cell, span: &Span, names: &Names, mistakes: &mut Mistakes) -> bool {
    take_window(cell, names);
    let mut is_known = true;
    let mut known = |what: &str, name: Option<&str>, all: &[String]| {
        let Some(name) = name.filter(|name| !all.iter().any(|known| known == name)) else { return };
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        mistakes.unknown(span, format!("the suite has no {what} `{name}`"), name, &all);
        is_known = false;
    };
    let path = cell.engine.clone();
    let split = names.engines.iter().filter(|engine| {
        path.strip_suffix(engine.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if let Some(engine) = split.max_by_key(|engine| engine.len()) {
        let before = path[..path.len() - engine.len()].trim_end_matches('.');
        let mut before = before.split('.').filter(|name| !name.is_empty()).map(str::to_owned);
        (cell.role, cell.op) = (before.next(), before.next());
        cell.engine.clone_from(engine);
    } else {
        let last = path.rsplit('.').next().unwrap_or(&path).to_owned();
        known("engine", Some(&last), &names.engines);
        cell.engine = last;
    }
    known("part", cell.part.as_deref(), &names.parts);
    known("phase with figures", Some(&cell.phase), &names.phases);
    known("client group", cell.role.as_deref(), &names.roles);
    known("volume", cell.volume.as_deref(), &names.volumes);
    known("memory tier", cell.tier.as_deref(), &names.tiers);
    let figure = cell.figure.as_str();
    if !FIGURES.contains(&figure) {
        let meant = super::mistake::closest(figure, &FIGURES);
        let meant = meant.map(|meant| format!("did you mean `{meant}`?"));
        let mistake = mistakes.at(span, format!("there is no figure `{figure}`"));
        mistake.label(meant.unwrap_or_else(|| "expected a figure of the exports".to_owned()));
        mistake.help("the figures: docs/exports.md, or `metric` in `kvdyno export --csv -`");
        is_known = false;
    }
    is_known
}

/// `volume flash-raw`, `cpus 16`.
fn needed(written: &At<String>, names: &Names, mistakes: &mut Mistakes) -> Option<Need> {
    let (what, of) = written.split_once(' ').unwrap_or((written.as_str(), ""));
    let of = of.trim();
    let among = |all: &[String]| all.iter().any(|known| known == of).then(|| of.to_owned());
    let number = |text: &str| text.parse::<u32>().ok();
    let (need, all): (_, &[String]) = match what {
        "engine" => (among(&names.engines).map(Need::Engine), &names.engines),
        "volume" => (among(&names.volumes).map(Need::Volume), &names.volumes),
        "part" => (among(&names.parts).map(Need::Part), &names.parts),
        "tier" => (among(&names.tiers).map(Need::Tier), &names.tiers),
        "threads" => (number(of).map(Need::Threads), &[]),
        "cpus" => (number(of).map(Need::Cpus), &[]),
        "memory" => match units::parse_size(of) {
            Ok(bytes) => (Some(Need::Memory(bytes)), &[]),
            Err(error) => {
                let mistake = mistakes.at(&written.span, format!("`{of}` {}", error.problem));
                mistake.label(format!("expected {}", error.expected));
                return None;
            }
        },
        "data_to_ram" => (number(of).map(Need::DataToRam), &[]),
        other => {
            let message = format!("`{other}` is nothing that a claim can need");
            mistakes.unknown(&written.span, message, other, &NEEDS);
            return None;
        }
    };
    if need.is_none() {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let message = format!("the suite has no {what} `{of}`");
        match all[..] {
            [] => mistakes.at(&written.span, format!("`{of}` is not a number of {what}")),
            _ => mistakes.unknown(&written.span, message, of, &all),
        };
    }
    need
}
