//! A run on one screen: what was run, how far to trust it, the figures that answer its question,
//! and where the rest is. Never more than [`LINES_MAX`] lines of [`COLUMNS_MAX`] columns, whatever
//! the shape of the run: where it does not fit, something is chosen, and what is left out is said.
//!
//! Makes lines of a summary and nothing else; [`crate::tables`] has the tables with all figures.

mod block;
mod cells;
mod contest;
mod cost;
mod engines;
mod foot;
mod head;
mod history;
mod line;
mod list;
pub(crate) use list::drive_table;
mod ranking;
mod runs;
mod settings;
#[cfg(test)]
mod tests;

use crate::tone::Tone;
use contest::Contest;
pub use foot::Ending;
use kvdyno_analysis::answers::history::History;
use kvdyno_analysis::answers::summary::Summary;
pub use line::{COLUMNS_MAX, Line};
use line::{Part, cut};

/// Lines of a screen.
pub const LINES_MAX: usize = 40;

/// The screen.
pub fn lines(summary: &Summary, ending: &Ending) -> Vec<Line> {
    let mut lines = head::lines(summary, ending);
    let foot = foot::lines(summary, ending);
    // A line between the body and what is left out of it, and one before the end.
    let room = LINES_MAX.saturating_sub(lines.len() + foot.len() + 2);
    let body = body(summary, room);
    lines.extend(body.lines);
    if let Some(left_out) = body.left_out {
        let text = format!(" {left_out}: {} --full", ending.command("show"));
        lines.push(Line::with_tone(Tone::Strong, "Left out:", cut(&text, COLUMNS_MAX - 9)));
    }
    lines.push(Line::blank());
    lines.extend(foot);
    lines
}

fn body(summary: &Summary, room: usize) -> Part {
    if let Some(answer) = &summary.search {
        return list::search(answer, room);
    }
    let contest = Contest::from_summary(summary);
    if !contest.has_figures() && !contest.groups.is_empty() {
        return list::engine_outcomes(&contest, room);
    }
    // Two versions beside each other are two engines; more are a history, where there are no other
    // engines.
    let is_all = |history: &&History| {
        let is_own = |label: &&str| history.versions.iter().any(|release| release.label == **label);
        history.versions.len() > 2 && contest.labels.iter().all(is_own)
    };
    if let Some(history) = summary.history.first().filter(is_all) {
        return history::part(history, room);
    }
    if contest.groups.is_empty() {
        return list::drives(summary, room);
    }
    // Engines whose instructions are counted have no rates to be ranked by.
    let most = if contest.is_counted() { engines::COUNTED_MAX } else { engines::ENGINES_MAX };
    if contest.is_one_setting() && contest.labels.len() <= most {
        for detail in runs::Detail::ALL {
            let part = engines::blocks(&contest, detail);
            if part.lines.len() <= room {
                return part;
            }
        }
    }
    if contest.engines() > most && !summary.rankings.is_empty() {
        return ranking::part(summary, room);
    }
    settings::part(&contest, room)
}
