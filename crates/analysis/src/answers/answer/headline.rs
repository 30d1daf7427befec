//! A run's answer in one line: the fastest engine, its lead, and its slowest operation in the first
//! phase, then the leaders of its later phases and of other settings.
//! `RocksDB: 20.0 k ops/s, 2.1x LMDB; update p99 4.8 ms (LMDB 15.1, SQLite 16.2)`.

use super::clause;
use super::{Setting, drives, list_settings, settings, words};
use crate::answers::search::SearchResult;
use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::engines::title;
use crate::figures::group::{Group, RoleRow};
use crate::figures::lists::{group_equal, list, unique};
use crate::figures::metric::{Definition, Direction, Metric, Metrics};
use crate::figures::ratio::format_factor;
use crate::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use crate::figures::sweep;
use crate::judge::claim::Claimed;
use kvdyno_record::units;
use std::fmt::Write;

/// With more engines than this, the line does not name each.
const NAMED_MAX: usize = 4;

/// Further workloads that the line names; the tables have the rest.
const ALSO_MAX: usize = 6;

/// The reasons for missing figures that the line gives; the tables have the rest.
const FATES_MAX: usize = 3;

/// The line; none where nothing was to be measured.
pub(super) fn headline(
    figures: &Figures,
    search: Option<&SearchResult>,
    claims: &[Claimed],
) -> Option<String> {
    if let Some(search) = search {
        return Some(search.sentences.join(" ")).filter(|text| !text.is_empty());
    }
    let settings = settings(figures);
    if settings.is_empty() {
        return drives::headline(figures, claims);
    }
    let runs = run_lines(&settings);
    // A load is no answer to what was to be measured after it.
    let measures = || settings.iter().any(|setting| !setting.phases().is_empty());
    let fates = runs.is_none().then(|| format_fates(figures)).flatten().filter(|_| measures());
    let line = runs.or(fates).or_else(|| settings.iter().find_map(Setting::load_line));
    line.or_else(|| format_fates(figures))
}

/// The line of the first setting that has a figure, the leaders of its later phases, and the leader
/// of the first phase of each other setting. Settings whose phases run in loading cases come
/// second.
fn run_lines(settings: &[Setting<'_>]) -> Option<String> {
    let (mut lines, mut others) = (Vec::new(), Vec::new());
    for by_load in [false, true] {
        let mut of_kind = settings.iter().filter(|setting| setting.is_by_load() == by_load);
        let first =
            of_kind.by_ref().find_map(|setting| setting.run_line().map(|line| (setting, line)));
        let Some((setting, (phase, line))) = first else { continue };
        lines.push(line);
        let context = setting.list_conditions(phase);
        let phases = setting.phases();
        let later = phases.iter().skip_while(|other| **other != phase).skip(1);
        others.extend(setting.list_leaders(&later.copied().collect::<Vec<_>>(), &context));
        others.extend(of_kind.filter_map(|setting| {
            setting.phases().into_iter().find_map(|phase| setting.find_leader(phase, &context))
        }));
    }
    (!lines.is_empty()).then(|| lines.join("; ") + &join_leaders(others))
}

/// `. Also b: LMDB 3.1x RocksDB; f, d: undecided`: workloads with their leaders.
fn join_leaders(leaders: Vec<(String, String)>) -> String {
    let same = group_equal(leaders, |(_, a), (_, b)| a == b);
    let each = same.iter().map(|same| {
        let workloads: Vec<&str> = same.iter().map(|(workload, _)| workload.as_str()).collect();
        format!("{}: {}", workloads.join(", "), same[0].1)
    });
    let mut each: Vec<String> = each.collect();
    if each.len() > ALSO_MAX {
        let more = each.len() - ALSO_MAX;
        each.truncate(ALSO_MAX);
        each.push(format!("{more} more"));
    }
    if each.is_empty() { String::new() } else { format!(". Also {}", each.join("; ")) }
}

/// The outcomes of engines that have no figure.
fn format_fates(figures: &Figures) -> Option<String> {
    let groups = figures.groups.iter().filter(|group| group.competes());
    let fate = |group: &Group| {
        let void = || Some(format!("is {}", group.describe_void()?));
        let fate = group.describe_missing_figures(None).or_else(void)?;
        Some(format!("{} {fate}", title(&figures.engines, group)))
    };
    let mut fates = unique(groups.filter_map(fate));
    fates.truncate(FATES_MAX);
    (!fates.is_empty()).then(|| format!("no figures: {}", list(&fates)))
}

impl<'s> Setting<'s> {
    /// The first measured phase that has a figure, and its line.
    fn run_line(&self) -> Option<(&'s str, String)> {
        self.phases().into_iter().find_map(|phase| {
            let line = self.phase_line(phase)?;
            let run = self.groups.iter().find_map(|group| group.run(phase))?;
            let end = if run.roles.len() > 1 || self.is_by_load() { ", " } else { ": " };
            Some((phase, format!("{}{line}", self.prefix(phase, end))))
        })
    }

    /// The leaders of `phases`; where a longer phase has windows, only its last window counts.
    fn list_leaders(&self, phases: &[&'s str], context: &[String]) -> Vec<(String, String)> {
        let longer_phase = |phase: &str| {
            let run = self.groups.iter().find_map(|group| group.run(phase))?;
            run.window.as_ref().map(|window| window.phase.as_str())
        };
        let is_last_window = |(at, phase): &(usize, &&'s str)| {
            let longer = longer_phase(phase);
            let mut later = phases[at + 1..].iter();
            longer.is_none() || later.all(|phase| longer_phase(phase) != longer)
        };
        let candidates = phases.iter().enumerate().filter(is_last_window);
        candidates.filter_map(|(_, phase)| self.find_leader(phase, context)).collect()
    }

    /// The conditions of a phase and its leader; none where its first role is paced. Leaves out
    /// conditions in `context`: the line states them already.
    fn find_leader(&self, phase: &str, context: &[String]) -> Option<(String, String)> {
        let chosen = self.pick_peers(phase)?;
        let roles = &chosen[0].run(phase)?.roles;
        let role = roles.first().filter(|role| !role.open_loop && !role.paced)?;
        let metrics = |group: &'s Group| Some(&group.run(phase)?.roles.first()?.metrics);
        let entrants = self.rank_entrants(&chosen, metrics, &c::OPS_PER_S);
        let leader = match entrants.as_slice() {
            [best, ..] if best.value <= 0.0 => return None,
            [best, second, ..] => describe_lead(best, second)?,
            [best] => {
                let rate = format!("{} {}", units::si(best.value), words::per_second(role));
                if chosen.len() == 1 { rate } else { format!("{} {rate}", best.name) }
            }
            [] => return None,
        };
        let mut conditions = self.list_conditions(phase);
        conditions.retain(|condition| !context.contains(condition));
        let mut workload = conditions.join(", ");
        if roles.len() > 1 {
            let blank = if workload.is_empty() { "" } else { " " };
            workload += &format!("{blank}{}", role.role);
        }
        (!workload.is_empty()).then_some((workload, leader))
    }

    /// Whether the phases run in the cases that load a database for others.
    fn is_by_load(&self) -> bool {
        self.groups.iter().all(|group| group.load.is_some() && group.threads.is_none())
    }

    fn phase_line(&self, phase: &str) -> Option<String> {
        let chosen = self.pick_peers(phase)?;
        let run = chosen[0].run(phase)?;
        if chosen.iter().any(|group| group.is_counted()) {
            let counted = |group: &'s Group| Some(&group.run(phase)?.metrics);
            let entrants = self.rank_entrants(&chosen, counted, &c::INSTRUCTIONS_PER_OP);
            return format_line("", &entrants, "instructions/op", None);
        }
        let several = run.roles.len() > 1;
        let valid: Vec<&'s Group> =
            chosen.iter().copied().filter(|group| !group.is_void()).collect();
        let clauses = run.roles.iter().enumerate().filter_map(|(role, row)| {
            let metrics = |group: &'s Group| Some(&group.run(phase)?.roles.get(role)?.metrics);
            let name = if several { format!("{}: ", row.role) } else { String::new() };
            let rows = self.role_rows(&valid, phase, role);
            if row.open_loop {
                let rate = row.offered_rate().map(units::rate);
                let entrants = self.rank_entrants(&chosen, metrics, row.p99());
                let p99 = entrants.first().and_then(|first| p99(first.name, &rows, true));
                let all: Vec<String> =
                    p99.into_iter().chain(clause::describe_behind(&rows)).collect();
                let rate = rate.unwrap_or_default();
                return (!all.is_empty()).then(|| format!("{name}at {rate}: {}", all.join("; ")));
            }
            let entrants = self.rank_entrants(&chosen, metrics, &c::OPS_PER_S);
            let threads = (!several).then(|| sweep::format_threads(row.threads));
            let p99 = p99(entrants.first()?.name, &rows, false);
            format_line(&name, &entrants, &words::per_second(row), threads.as_deref()).map(|text| {
                match &p99 {
                    Some(p99) if several => format!("{text}, {p99}"),
                    Some(p99) => format!("{text}; {p99}"),
                    None => text,
                }
            })
        });
        let text = clauses.collect::<Vec<_>>().join("; ");
        let missing = self.missing(&chosen, phase);
        (!text.is_empty()).then(|| format!("{text}{missing}"))
    }

    fn load_line(&self) -> Option<String> {
        let loads: Vec<&'s Group> =
            self.loads().into_iter().filter(|group| group.load.is_some()).collect();
        let metrics = |group: &'s Group| Some(&group.load.as_ref()?.metrics);
        let counted = loads.iter().any(|group| group.is_counted());
        let (figure, unit) = if counted {
            (&c::INSTRUCTIONS_PER_OP, "instructions/record")
        } else {
            (&c::RECORDS_PER_S, "records/s loaded")
        };
        let entrants = self.rank_entrants(&loads, metrics, figure);
        Some(format!("{}{}", self.prefix("", ": "), format_line("", &entrants, unit, None)?))
    }

    /// The conditions that distinguish the phase from others of the run, then `end`.
    fn prefix(&self, phase: &str, end: &str) -> String {
        match self.list_conditions(phase).as_slice() {
            [] => String::new(),
            conditions => conditions.join(", ") + end,
        }
    }

    /// The phase and the settings that distinguish it from others of the run.
    fn list_conditions(&self, phase: &str) -> Vec<String> {
        let phases = unique(settings(self.figures).iter().flat_map(Setting::phases)).len();
        // The name of a phase that the suite did not name says nothing.
        let is_named = phases > 1 && !["", "measure"].contains(&phase);
        let phase = is_named.then(|| phase.to_owned());
        phase.into_iter().chain(list_settings(self.figures, self.groups[0], true)).collect()
    }

    /// The groups that have a valid figure, the best first.
    fn rank_entrants(
        &self,
        groups: &[&'s Group],
        metrics: impl Fn(&'s Group) -> Option<&'s Metrics>,
        figure: &Definition,
    ) -> Vec<Entrant<'s>> {
        let entrant = |group: &&'s Group| {
            let metric = metrics(group)?.get(figure).filter(|_| !group.is_void())?;
            Some(Entrant { name: self.name(group), group, metric, value: metric.value? })
        };
        let mut all: Vec<Entrant<'s>> = groups.iter().filter_map(entrant).collect();
        all.sort_by(|a, b| match figure.direction {
            Direction::Higher => b.value.total_cmp(&a.value),
            Direction::Lower | Direction::Neither => a.value.total_cmp(&b.value),
        });
        all
    }

    /// `; redb did not fit, RocksDB is void: debug-build`.
    fn missing(&self, chosen: &[&Group], phase: &str) -> String {
        let has = |group: &&Group| {
            group
                .run(phase)
                .is_some_and(|run| run.roles.iter().any(|role| role.metrics.has_values()))
        };
        let fate = |group: &&Group| {
            let name = self.name(group);
            if let Some(void) = group.describe_void() {
                return Some(format!("{name} is {void}"));
            }
            let fate = group.describe_missing_figures(None).filter(|_| !has(group))?;
            Some(format!("{name} {}", fate.split(" (0 of ").next().unwrap_or(&fate)))
        };
        let fates: Vec<String> = chosen.iter().filter_map(fate).collect();
        match fates.len() {
            0 => String::new(),
            1..=FATES_MAX => format!("; {}", fates.join(", ")),
            n => format!("; {n} engines have no figure"),
        }
    }
}

/// An engine with a value.
#[derive(Clone, Copy)]
struct Entrant<'g> {
    name: &'g str,
    group: &'g Group,
    metric: &'g Metric,
    value: f64,
}

impl Entrant<'_> {
    /// The lead over another, as all tables compute it: the factor by which it is better, in the
    /// figure's own direction.
    fn lead_over(&self, other: &Self) -> Option<RelativeTo> {
        let (new, base) = match self.metric.direction {
            Direction::Higher => (self, other),
            Direction::Lower | Direction::Neither => (other, self),
        };
        RelativeTo::between("", (base.group, base.metric), (new.group, new.metric))
    }
}

/// `LMDB 3.1x RocksDB`; `3.1x?` with too few trials to be sure, as in the tables.
fn describe_lead(best: &Entrant<'_>, second: &Entrant<'_>) -> Option<String> {
    let lead = best.lead_over(second)?;
    let mark = match lead.verdict {
        _ if lead.reason.is_some() => return Some(NOT_COMPARABLE.to_owned()),
        Significance::NotDistinguishable if lead.decided => {
            return Some(format!("{} equal to {}", best.name, second.name));
        }
        Significance::NotDistinguishable => return Some("undecided".to_owned()),
        Significance::SpreadUnknown => "?",
        Significance::Base | Significance::Different => "",
    };
    Some(format!("{} {}x{mark} {}", best.name, format_factor(lead.ratio, lead.ratio), second.name))
}

/// `RocksDB: 20.0 k ops/s, 2.1x LMDB (not comparable with redb: ...)`.
fn format_line(
    role: &str,
    all: &[Entrant<'_>],
    unit: &str,
    threads: Option<&str>,
) -> Option<String> {
    let (best, others) = all.split_first().filter(|(best, _)| best.value > 0.0)?;
    let (mut compared, mut apart) = (vec![*best], Vec::new());
    for other in others {
        match best.lead_over(other).and_then(|lead| lead.reason) {
            Some(why) => apart.push((other.name, why)),
            None => compared.push(*other),
        }
    }
    let text = format_ranks(role, &compared, unit, threads)?;
    let apart = group_equal(apart, |(_, a), (_, b)| a == b).into_iter().map(|same| {
        let names: Vec<String> = same.iter().map(|(name, _)| (*name).to_owned()).collect();
        format!(" ({NOT_COMPARABLE} with {}: {})", list(&names), same[0].1)
    });
    Some(text + &apart.collect::<String>())
}

/// `RocksDB: 20.0 k ops/s, 2.1x LMDB`; of many engines: the first with its ties, and the last.
fn format_ranks(
    role: &str,
    all: &[Entrant<'_>],
    unit: &str,
    threads: Option<&str>,
) -> Option<String> {
    let (best, others) = all.split_first()?;
    let threads_text = threads.map_or_else(String::new, |threads| format!(" at {threads}"));
    let figure = |entrant: &Entrant<'_>| format!("{} {unit}", units::si(entrant.value));
    let (mut equal, mut undecided, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for other in others {
        match best.lead_over(other) {
            Some(lead) if lead.verdict == Significance::NotDistinguishable => {
                if lead.decided { &mut equal } else { &mut undecided }.push(other.name);
            }
            lead => behind.push((other, lead)),
        }
    }
    let trials = all.iter().map(|entrant| entrant.metric.n).min().unwrap_or(0);
    let unsure = behind.iter().any(|(_, lead)| {
        lead.as_ref().is_none_or(|lead| lead.verdict == Significance::SpreadUnknown)
    });
    let few = match trials {
        _ if !unsure => String::new(),
        1 => " (1 trial)".to_owned(),
        n => format!(" ({n} trials)"),
    };
    // After the role's name and its colon, no second colon.
    let colon = if role.is_empty() { ":" } else { "" };
    let times = |(other, lead): &(&Entrant<'_>, Option<RelativeTo>)| {
        let ratio = lead.as_ref().map_or(best.value / other.value, |lead| lead.ratio);
        format_factor(ratio, ratio)
    };
    let interval = |(_, lead): &(&Entrant<'_>, Option<RelativeTo>)| {
        let ends = lead.as_ref().and_then(|lead| lead.low.zip(lead.high));
        let words = |(low, high)| {
            format!(" ({} to {})", format_factor(low, low), format_factor(high, high))
        };
        ends.map_or_else(String::new, words)
    };
    let mut text = role.to_owned();
    let written = if behind.len() == others.len() && all.len() <= NAMED_MAX {
        write!(text, "{}{colon} {}{threads_text}", best.name, figure(best)).and_then(|()| {
            let against: Vec<String> = behind
                .iter()
                .map(|pair| format!(", {}x {}{}", times(pair), pair.0.name, interval(pair)))
                .collect();
            write!(text, "{}{few}", against.concat())
        })
    } else if behind.is_empty() && all.len() <= NAMED_MAX {
        let each: Vec<String> = all.iter().map(|entrant| units::si(entrant.value)).collect();
        let names: Vec<String> = all.iter().map(|entrant| entrant.name.to_owned()).collect();
        let verdict = if undecided.is_empty() { "equal:" } else { "undecided between" };
        write!(text, "{verdict} {}{threads_text}: {} {unit}", list(&names), list(&each))
    } else {
        let against = format_ties(&equal, &undecided);
        write!(text, "{} fastest{against}{threads_text}, {}", best.name, figure(best)).and_then(
            |()| match behind.last() {
                Some(last) => {
                    let (name, times, interval) = (last.0.name, times(last), interval(last));
                    let before = behind.iter().rev().skip(1).map(|(entrant, _)| *entrant);
                    let against = describe_ties(before, last.0);
                    write!(text, "; {name} slowest{against}, {times}x{interval}{few}")
                }
                None => Ok(()),
            },
        )
    };
    written.ok().map(|()| text)
}

/// Lists the `others` that `last` is not surely behind: ` (undecided against redb)`.
fn describe_ties<'e>(others: impl Iterator<Item = &'e Entrant<'e>>, last: &Entrant<'_>) -> String {
    let ties = others.filter_map(|other| {
        let lead = other.lead_over(last).filter(|lead| lead.reason.is_none())?;
        (lead.verdict == Significance::NotDistinguishable).then_some((other.name, lead.decided))
    });
    let (equal, undecided): (Vec<_>, Vec<_>) = ties.partition(|(_, decided)| *decided);
    let names = |ties: Vec<(&'e str, bool)>| -> Vec<&'e str> {
        ties.into_iter().map(|(name, _)| name).collect()
    };
    format_ties(&names(equal), &names(undecided))
}

/// ` (tied with LMDB; undecided against redb)`; empty if the best differs from all.
fn format_ties(equal: &[&str], undecided: &[&str]) -> String {
    let all = [("tied with", equal), ("undecided against", undecided)];
    let all = all.into_iter().filter(|(_, names)| !names.is_empty());
    let all: Vec<_> = all.map(|(words, names)| format!("{words} {}", names.join(", "))).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

/// `update p99 4.8 ms (LMDB 15.1, SQLite 16.2)`: of the operation that takes the leader longest.
fn p99(leader: &str, rows: &[(&str, &RoleRow)], by_name: bool) -> Option<String> {
    let (_, first) = rows.iter().find(|(name, _)| *name == leader)?;
    let value = |row: &RoleRow, op: &str| {
        let mut operations = row.metrics_by_operation();
        operations.find(|(name, _)| *name == op)?.1.value(row.p99())
    };
    let by_op = first.metrics_by_operation().filter_map(|(op, _)| Some((op, value(first, op)?)));
    let (op, longest) = by_op.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (scale, unit) = scale(longest);
    let others: Vec<(&str, f64)> = rows
        .iter()
        .filter(|(name, _)| *name != leader)
        .filter_map(|(name, row)| Some((*name, value(row, op)? / scale)))
        .collect();
    let what = if first.is_mix() { format!("{op} p99") } else { "p99".to_owned() };
    let whose = if by_name && rows.len() > 1 { format!("{leader} ") } else { String::new() };
    let mut text = format!("{what} {whose}{} {unit}", short(longest / scale));
    let least = others.iter().map(|(_, ns)| *ns).reduce(f64::min);
    let most = others.iter().map(|(_, ns)| *ns).reduce(f64::max);
    if let (Some(least), Some(most)) = (least, most) {
        text += &match others.len() {
            n if n < NAMED_MAX => {
                let each = others.iter().map(|(name, ns)| format!("{name} {}", short(*ns)));
                format!(" ({})", each.collect::<Vec<_>>().join(", "))
            }
            _ => format!(" (others {} to {})", short(least), short(most)),
        };
    }
    Some(text)
}

/// The divisor for a time, and the unit that results.
fn scale(ns: f64) -> (f64, &'static str) {
    match ns {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "us"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Formats a value with about three digits; from 99.95 on as a whole number.
fn short(value: f64) -> String {
    match value {
        ..0.0995 => format!("{value:.3}"),
        ..0.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => units::group_digits(value.round() as u64),
    }
}

/// A time in the format of these lines.
pub(super) fn time(ns: f64) -> String {
    let (scale, unit) = scale(ns);
    format!("{} {unit}", short(ns / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_engines_are_tied() {
        assert_eq!(format_ties(&[], &[]), "");
        assert_eq!(format_ties(&["LMDB"], &[]), " (tied with LMDB)");
        let both = format_ties(&["LMDB"], &["redb", "SQLite"]);
        assert_eq!(both, " (tied with LMDB; undecided against redb, SQLite)");
    }
}
