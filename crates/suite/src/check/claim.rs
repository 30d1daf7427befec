//! `[[claim]]`: a statement about a run's figures, with the condition under which it holds. It is
//! read and checked with the suite; `kvdyno-analysis` evaluates it on the record.

mod grammar;
mod names;

pub(crate) use names::Names;

use crate::written::claim::ClaimTable;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::read::At;
use crate::written::scale::PAGE;
use crate::written::source::Span;
use grammar::ParseError;
use kvdyno_record::claim::{Cell, Claim, Need, Window};
use kvdyno_record::known::FIGURES;
use kvdyno_record::text::is_steering;
use kvdyno_record::units;

/// Characters of a claim's text.
const TEXT_MAX: usize = 300;

/// The known requirements.
const NEEDS: [&str; 8] =
    ["engine", "volume", "part", "tier", "threads", "cpus", "memory", "data_to_ram"];

/// Resolves the claims. Mistakes in a claim are shown at its line. Records and RAM in claims are
/// scaled like those of their parts.
pub(crate) fn check_claims(
    claims: &[ClaimTable],
    names: &Names,
    parts: &[&Part],
    mistakes: &mut Mistakes,
) -> Vec<Claim> {
    let mut claims: Vec<Claim> =
        claims.iter().filter_map(|claim| resolve(claim, names, mistakes)).collect();
    for cell in claims.iter_mut().flat_map(|claim| grammar::cells_mut(&mut claim.relation)) {
        let of_cell = |part: &&&Part| cell.part.is_none() || part.name() == cell.part.as_deref();
        let Some(part) = parts.iter().find(of_cell) else { continue };
        let scaled = |number: u64| part.scale.multiply(number).unwrap_or(u64::MAX).max(1);
        let ram = |bytes: u64| part.typed.ram.with_unscaled(scaled(bytes).max(PAGE), bytes);
        cell.records = cell.records.map(scaled);
        cell.ram_bytes = cell.ram_bytes.map(ram);
    }
    claims
}

/// Parses a claim and splits the names of its cells; `None`: it has mistakes.
fn resolve(typed: &ClaimTable, names: &Names, mistakes: &mut Mistakes) -> Option<Claim> {
    let text = &typed.text;
    if text.trim().is_empty() || text.chars().any(is_steering) || text.chars().count() > TEXT_MAX {
        let mistake = mistakes.at(&text.span, "a claim's text must be one line, and not empty");
        mistake.label(format!("expected 1 to {TEXT_MAX} characters without line breaks"));
    }
    let span = &typed.holds.span;
    let mut relation = match grammar::read(&typed.holds) {
        Ok(relation) => relation,
        Err(ParseError { word, expected }) => {
            let message = match word.as_str() {
                "" => "the claim ends too early".to_owned(),
                word => format!("unexpected word `{word}`"),
            };
            mistakes.at(span, message).label(format!("expected {expected}")).help(grammar::HELP);
            return None;
        }
    };
    let mut valid = true;
    for cell in grammar::cells_mut(&mut relation) {
        valid &= check(cell, span, names, mistakes);
    }
    let needs = typed.needs.iter().flat_map(|needs| &needs.value);
    let needs: Vec<Option<Need>> = needs.map(|need| parse_need(need, names, mistakes)).collect();
    let needs = needs.into_iter().collect::<Option<Vec<_>>>()?;
    valid.then(|| Claim {
        text: text.value.clone(),
        holds: typed.holds.split_whitespace().collect::<Vec<_>>().join(" "),
        relation,
        needs,
    })
}

/// Splits the window off the name of a phase, if the suite has a phase of that name: `hours-w7`,
/// `hours-wmax`.
fn split_window(cell: &mut Cell, names: &Names) {
    let is_phase = |name: &str| names.phases.iter().any(|phase| phase == name);
    let window = match cell.phase.strip_suffix("-wmax") {
        Some(phase) => Some((phase, Window::Last)),
        None => cell.phase.rsplit_once("-w").and_then(|(phase, number)| {
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            Some((phase, Window::Number(number.parse().ok().filter(|_| is_number)?)))
        }),
    };
    let Some((phase, window)) = window.filter(|(phase, _)| is_phase(phase)) else { return };
    if !is_phase(&cell.phase) && window != Window::Number(0) {
        cell.window = Some(window);
        cell.phase = phase.to_owned();
    }
}

/// Records names in a cell that the suite does not have. The path before the engine is split here,
/// because labels may contain dots (`rocksdb-9.10.0`).
fn check(cell: &mut Cell, span: &Span, names: &Names, mistakes: &mut Mistakes) -> bool {
    split_window(cell, names);
    let mut is_known = true;
    let mut check_name = |what: &str, name: Option<&str>, all: &[String]| {
        let unknown = name.filter(|name| !all.iter().any(|other| other == name));
        let Some(name) = unknown else { return };
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
        check_name("engine", Some(&last), &names.engines);
        cell.engine = last;
    }
    check_name("part", cell.part.as_deref(), &names.parts);
    check_name("phase with figures", Some(&cell.phase), &names.phases);
    check_name("role", cell.role.as_deref(), &names.roles);
    check_name("volume", cell.volume.as_deref(), &names.volumes);
    check_name("memory tier", cell.tier.as_deref(), &names.tiers);
    let figure = cell.figure.as_str();
    if !FIGURES.contains(&figure) {
        let meant = crate::written::mistake::closest(figure, &FIGURES);
        let meant = meant.map(|meant| format!("did you mean `{meant}`?"));
        let mistake = mistakes.at(span, format!("unknown figure `{figure}`"));
        mistake.label(meant.unwrap_or_else(|| "expected a figure of the exports".to_owned()));
        mistake.help("for the figures see docs/exports.md, or `metric` in `kvdyno export --csv -`");
        is_known = false;
    }
    is_known
}

/// Parses a requirement: `volume flash-raw`, `cpus 16`.
fn parse_need(written: &At<String>, names: &Names, mistakes: &mut Mistakes) -> Option<Need> {
    let (what, argument) = written.split_once(' ').unwrap_or((written.as_str(), ""));
    let argument = argument.trim();
    let one_of =
        |all: &[String]| all.iter().any(|name| name == argument).then(|| argument.to_owned());
    let number = |text: &str| text.parse::<u32>().ok();
    let (need, all): (_, Option<&[String]>) = match what {
        "engine" => (one_of(&names.engines).map(Need::Engine), Some(&names.engines)),
        "volume" => (one_of(&names.volumes).map(Need::Volume), Some(&names.volumes)),
        "part" => (one_of(&names.parts).map(Need::Part), Some(&names.parts)),
        "tier" => (one_of(&names.tiers).map(Need::Tier), Some(&names.tiers)),
        "threads" => (number(argument).map(Need::Threads), None),
        "cpus" => (number(argument).map(Need::Cpus), None),
        "memory" => match units::parse_size(argument) {
            Ok(bytes) => (Some(Need::Memory(bytes)), None),
            Err(error) => {
                let mistake = mistakes.at(&written.span, format!("`{argument}` {}", error.problem));
                mistake.label(format!("expected {}", error.expected));
                return None;
            }
        },
        "data_to_ram" => (number(argument).map(Need::DataToRam), None),
        other => {
            let message = format!("unknown requirement `{other}`");
            mistakes.unknown(&written.span, message, other, &NEEDS);
            return None;
        }
    };
    if need.is_none() {
        match all {
            None => mistakes.at(&written.span, format!("`{argument}` is not a number of {what}")),
            Some(all) => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let message = format!("the suite has no {what} `{argument}`");
                mistakes.unknown(&written.span, message, argument, &all)
            }
        };
    }
    need
}
