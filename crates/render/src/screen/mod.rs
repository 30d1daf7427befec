//! A run on one screen: what was run, how far to trust it, the figures that answer its question,
//! and where the rest is. Never more than [`LINES_MAX`] lines of [`COLUMNS_MAX`] columns, whatever
//! the shape of the run: where it does not fit, something is chosen, and what is left out is said.
//!
//! Makes lines of a summary and nothing else; the tables with all figures are `report/tables`'.

mod block;
mod cells;
mod cost;
mod engines;
mod foot;
mod head;
mod history;
mod list;
#[cfg(test)]
mod tests;

use crate::tone::Tone;
pub use foot::Ending;
use kvdyno_analysis::engines::title;
use kvdyno_analysis::group::Group;
use kvdyno_analysis::history::History;
use kvdyno_analysis::lists::several;
use kvdyno_analysis::metric::Metrics;
use kvdyno_analysis::summary::Summary;

/// Lines of a screen.
pub const LINES_MAX: usize = 40;

/// Columns of a screen.
pub const COLUMNS_MAX: usize = 100;

/// A line: a first part with its colour, and the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How the first part is coloured; none: as everything.
    pub tone: Option<Tone>,
    /// The first part.
    pub word: String,
    /// What follows it.
    pub text: String,
}

impl Line {
    fn plain(text: impl Into<String>) -> Self {
        Self { tone: None, word: String::new(), text: text.into() }
    }

    fn marked(tone: Tone, word: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone: Some(tone), word: word.into(), text: text.into() }
    }

    fn blank() -> Self {
        Self::plain("")
    }

    /// Both parts.
    pub fn whole(&self) -> String {
        format!("{}{}", self.word, self.text)
    }
}

/// What a part of the screen came to: its lines, and what was left out of it.
#[derive(Default)]
struct Part {
    lines: Vec<Line>,
    left_out: Option<String>,
}

/// The screen.
pub fn lines(summary: &Summary, ending: &Ending) -> Vec<Line> {
    let mut lines = head::lines(summary);
    let foot = foot::lines(summary, ending);
    // A line between the body and what is left out of it, and one before the end.
    let room = LINES_MAX.saturating_sub(lines.len() + foot.len() + 2);
    let body = body(summary, room);
    lines.extend(body.lines);
    if let Some(left_out) = body.left_out {
        let text = format!(" {left_out}: {} --full", ending.show);
        lines.push(Line::marked(Tone::Strong, "Left out:", cut(&text, COLUMNS_MAX - 9)));
    }
    lines.push(Line::blank());
    lines.extend(foot);
    lines
}

fn body(summary: &Summary, room: usize) -> Part {
    if let Some(answer) = &summary.search {
        return list::search(answer, room);
    }
    let contest = Contest::of(summary);
    if !contest.has_figures() && !contest.groups.is_empty() {
        return list::fates(&contest, room);
    }
    // Two versions beside each other are two engines; more are a history, where there is nobody
    // else.
    let is_all = |history: &&History| {
        let of_it = |label: &&str| history.versions.iter().any(|release| release.label == **label);
        history.versions.len() > 2 && contest.labels.iter().all(of_it)
    };
    if let Some(history) = summary.history.first().filter(is_all) {
        return history::part(history, room);
    }
    if contest.groups.is_empty() {
        return list::drives(summary, room);
    }
    if contest.is_one_setting() && contest.labels.len() <= engines::ENGINES_MAX {
        for detail in engines::Detail::ALL {
            let part = engines::blocks(&contest, detail);
            if part.lines.len() <= room {
                return part;
            }
        }
    }
    list::settings(&contest, room)
}

/// Who is compared: the engines; in a run of nothing else the load generator itself.
struct Contest<'s> {
    summary: &'s Summary,
    groups: Vec<&'s Group>,
    /// In the order of the suite.
    labels: Vec<&'s str>,
}

impl<'s> Contest<'s> {
    fn of(summary: &'s Summary) -> Self {
        let of = |such: &dyn Fn(&Group) -> bool| -> Vec<&'s Group> {
            summary.groups.iter().filter(|group| such(group)).collect()
        };
        let mut groups = of(&Group::competes);
        if groups.is_empty() && !summary.groups.iter().any(|group| group.bare_drive) {
            groups = of(&|_| true);
        }
        let mut labels: Vec<&str> = Vec::new();
        for group in &groups {
            if !labels.contains(&group.label.as_str()) {
                labels.push(&group.label);
            }
        }
        Self { summary, groups, labels }
    }

    /// Anything came to its end.
    fn has_figures(&self) -> bool {
        let rows = self.groups.iter().flat_map(|group| {
            let runs = group.runs.iter().flat_map(|run| &run.roles).map(|role| &role.metrics);
            runs.chain(group.load.iter().map(|load| &load.metrics))
        });
        rows.into_iter().any(Metrics::any)
    }

    /// As people call the engine of a label; where several begin alike, by what it ends with:
    /// `..k_cache=25%`.
    fn name(&self, label: &str) -> String {
        let title = |label: &'s str| {
            let group = self.groups.iter().find(|group| group.label == label);
            group.map_or(label, |group| title(&self.summary.engines, group))
        };
        let short = |label: &'s str| cut(title(label), block::NAME_MAX);
        let Some(label) = self.labels.iter().find(|known| **known == label) else {
            return cut(label, block::NAME_MAX);
        };
        let twins = self.labels.iter().filter(|other| short(other) == short(label)).count();
        let name = kvdyno_record::text::one_line(title(label)).into_owned();
        let beyond = name.chars().count().saturating_sub(block::NAME_MAX);
        if twins < 2 || beyond == 0 {
            return short(label);
        }
        format!("..{}", name.chars().skip(beyond + 2).collect::<String>())
    }

    /// Engines and threads aside, everything is the same for all: data, RAM, volume, durability,
    /// target rates.
    fn is_one_setting(&self) -> bool {
        let all = self.groups.iter();
        let data = |group: &Group| (group.records, group.key_bytes, group.value_bytes_mean);
        let same = !several(all.clone().map(|group| (data(group), group.ram())))
            && !several(all.clone().map(|group| (&group.volume, group.durability)));
        let once = all.clone().filter(|group| !group.runs.is_empty()).all(|group| {
            let twins = all.clone().filter(|other| !other.runs.is_empty());
            let twins = twins.filter(|other| {
                (&other.label, other.threads) == (&group.label, group.threads)
                    && other.runs[0].phase == group.runs[0].phase
            });
            twins.count() == 1
        });
        same && once
    }
}

/// At most so many columns, on one line.
fn cut(text: &str, columns: usize) -> String {
    let text = kvdyno_record::text::one_line(text);
    if text.chars().count() <= columns {
        return text.into_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(2)).collect();
    format!("{}..", kept.trim_end())
}
