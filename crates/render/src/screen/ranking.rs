//! Many engines: a line for each, a column for each question, with its rank and how far behind the
//! best of its durability class it is.

use super::super::footnotes::Footnotes;
use super::super::ranking::{format_behind, heading, short_figure};
use super::line::{COLUMNS_MAX, Line, NOTE_LINES, Part, cut, sentence};
use crate::tone::Tone;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::lists::{group_equal, has_several, unique};
use kvdyno_analysis::judge::ranking::{Question, Ranking, Standing};
use kvdyno_record::units;

/// Columns of an engine's name.
const NAME: usize = 20;

/// Columns of a cell, at most.
const CELL_MAX: usize = 12;

/// Columns of a cell, at least: less is unreadable.
const CELL_MIN: usize = 10;

/// Questions that have room beside an engine's name.
const QUESTIONS_MAX: usize = (COLUMNS_MAX - NAME) / CELL_MIN;

/// Reasons that are shown below a setting; the rest is left to the table.
const NOTES_MAX: usize = 3;

/// Settings one below the other, as many as fit.
pub(super) fn part(summary: &Summary, room: usize) -> Part {
    let main = summary.rankings.iter().filter(|ranking| ranking.main);
    let settings = group_equal(main, |a, b| a.setting == b.setting);
    let classes = has_several(summary.rankings.iter().map(|ranking| ranking.durability));
    let mut part = Part::default();
    let mut left_out: Vec<String> = Vec::new();
    let mut questions_left_out = 0;
    let of = if classes { " of the class" } else { "" };
    let aid =
        format!("Place, times behind the best{of}; =: tied there; ~: undecided; ?: below 4 trials");
    for (at, setting) in settings.iter().enumerate() {
        let mut questions = list_questions(setting);
        let hidden = questions.split_off(questions.len().min(QUESTIONS_MAX));
        let lines = block(setting, &questions, classes);
        let gap = usize::from(at > 0);
        // A setting is shown as a whole, except the first.
        if at > 0 && part.lines.len() + gap + lines.len() + 1 > room {
            left_out.push(setting_label(setting[0]).to_owned());
            continue;
        }
        part.lines.extend((0..gap).map(|_| Line::blank()));
        part.lines.extend(lines);
        questions_left_out = questions_left_out.max(hidden.len());
    }
    let most = room.saturating_sub(1).max(2);
    let more = part.lines.len().saturating_sub(most);
    if more > 0 {
        part.lines.truncate(most);
        left_out.push(format!("{more} more rows"));
    }
    if questions_left_out > 0 {
        left_out.push(units::pluralize(questions_left_out, "more question"));
    }
    part.lines.push(Line::plain(cut(&aid, COLUMNS_MAX)));
    left_out.push("intervals and other phases: --table ranking".to_owned());
    part.left_out = Some(left_out.join("; "));
    part.cut_lines()
}

fn setting_label(ranking: &Ranking) -> &str {
    if ranking.setting.is_empty() { "Ranking" } else { &ranking.setting }
}

/// `update p99`; where that is too wide, the operation is cut.
fn title(
    rankings: &[&Ranking],
    (question, op): &(Question, Option<String>),
    width: usize,
) -> String {
    let ranking = rankings.iter().find(|one| (one.question, &one.op) == (*question, op));
    let title = ranking.map_or_else(String::new, |ranking| ranking.title());
    match op {
        Some(op) if title.chars().count() > width => {
            let figure = if *question == Question::Tail { " p99.9" } else { " p99" };
            let room = width.saturating_sub(figure.len());
            op.chars().take(room).collect::<String>() + figure
        }
        _ => title,
    }
}

/// The questions of a setting, in their order.
fn list_questions(rankings: &[&Ranking]) -> Vec<(Question, Option<String>)> {
    let mut questions = unique(rankings.iter().map(|one| (one.question, one.op.clone())));
    questions.sort_by_key(|(question, _)| *question);
    questions
}

/// A setting: its questions over its engines, in the order of reads where there are any.
fn block(
    rankings: &[&Ranking],
    questions: &[(Question, Option<String>)],
    classes: bool,
) -> Vec<Line> {
    let width = ((COLUMNS_MAX - NAME) / questions.len().max(1)).min(CELL_MAX);
    let line = |name: &str, cells: &[String]| {
        let cells: String = cells
            .iter()
            .map(|cell| format!(" {:>w$}", cut(cell, width - 1), w = width - 1))
            .collect();
        (format!("{:<NAME$}", cut(name, NAME)), cells)
    };
    let titles: Vec<String> =
        questions.iter().map(|question| title(rankings, question, width - 1)).collect();
    // The first class stands over all, another one beside its engines.
    let common = rankings[0].durability;
    let heading =
        if classes { heading(rankings[0]) } else { setting_label(rankings[0]).to_owned() };
    let (word, text) = line(&heading, &titles);
    let mut lines = vec![Line::with_tone(Tone::Strong, word, text)];
    let mut notes = Footnotes::default();
    for class in group_equal(rankings.iter().copied(), |a, b| a.durability == b.durability) {
        let preferred = [Question::Reads, Question::Mixed, Question::Writes, Question::Scans];
        let ranking_for = |question| class.iter().find(|ranking| ranking.question == question);
        let first = preferred.into_iter().find_map(ranking_for);
        let first = first.or(class.first()).copied();
        let order = first.into_iter().chain(class.iter().copied());
        let engines =
            unique(order.flat_map(|ranking| &ranking.standings).map(|standing| &standing.engine));
        let alone = engines.len() < 2;
        for engine in engines {
            let cells: Vec<String> = questions
                .iter()
                .map(|question| {
                    let is_it =
                        |one: &&&Ranking| (one.question, &one.op) == (question.0, &question.1);
                    let ranking = class.iter().find(is_it)?;
                    Some(cell(ranking, ranking.standing(engine)?, alone, &mut notes))
                })
                .map(|cell| cell.unwrap_or_else(|| "-".to_owned()))
                .collect();
            let name = match class[0].durability.as_str() {
                word if class[0].durability != common => {
                    format!("{}, {word}", cut(engine, NAME - 2 - word.len()))
                }
                _ => engine.clone(),
            };
            let (name, text) = line(&name, &cells);
            lines.push(Line::plain(format!("{name}{text}").trim_end().to_owned()));
        }
    }
    let all = notes.lines();
    let notes = all.iter().take(NOTES_MAX);
    lines.extend(notes.flat_map(|note| sentence(None, "", note, NOTE_LINES)));
    lines
}

/// `1 13.2 k` for the best, `3 1.31x` for others, `2= ~` where it cannot be told from the best.
fn cell(ranking: &Ranking, standing: &Standing, alone: bool, notes: &mut Footnotes) -> String {
    let figure = short_figure(ranking, standing);
    match (standing.format_rank(), figure) {
        (Some(_), Some(figure)) if alone => figure,
        (Some(rank), Some(figure)) => {
            let times = format_behind(standing).filter(|times| !times.is_empty());
            format!("{rank} {}", times.unwrap_or(figure))
        }
        _ => {
            let why = standing.missing.as_deref().unwrap_or("no figure");
            let why = why.split(" (0 of ").next().unwrap_or(why);
            format!("- {}", notes.mark(&format!("{}: {why}", standing.engine)))
        }
    }
}
