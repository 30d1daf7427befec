//! Engines in order by question: a table for each setting and durability class, and the same for
//! programs, a row for each engine at each question.

use super::cell::Cell;
use super::format;
use super::table::{Side, Table, Titled};
use super::wrap::wrap;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::lists::group_equal;
use kvdyno_analysis::figures::lost::Lost;
use kvdyno_analysis::figures::relative::Significance;
use kvdyno_analysis::judge::ranking::{Ranking, Standing};
use kvdyno_record::units;

const AID: &str = "\
rank: shared (=) with the first engine that it cannot be told from; ?: fewer than four trials. \
behind: how many times worse than the best, the geometric mean over pairs of trials; from and to: \
its 99 % interval; told apart where that leaves 1 out. figure: the median of trials, of p99.9 each \
trial's own. Engines of other durability classes are ranked by themselves.";

const SHORT_AID: &str =
    "--wide: every phase that answers a question, not the first alone; how far apart trials lie.";

/// A column of exports: its name, its width in the workbook, and what is in it.
type Column = (&'static str, u16, fn(&Ranking, &Standing) -> Cell);

pub(crate) const COLUMNS: [Column; 26] = [
    ("question", 20, |ranking, _| Cell::text(enum_text(ranking.question))),
    ("main", 7, |ranking, _| Cell::text(if ranking.main { "yes" } else { "no" })),
    ("setting", 24, |ranking, _| Cell::text_or_empty(non_empty(&ranking.setting))),
    ("durability", 10, |ranking, _| Cell::text(ranking.durability.as_str())),
    ("part", 10, |ranking, _| Cell::text_or_empty(ranking.part.as_ref())),
    ("phase", 18, |ranking, _| Cell::text(&ranking.phase)),
    ("role", 12, |ranking, _| Cell::text_or_empty(ranking.role.as_ref())),
    ("op", 10, |ranking, _| Cell::text_or_empty(ranking.op.as_ref())),
    ("threads_swept", 8, |ranking, _| Cell::count(ranking.threads.map(u64::from))),
    ("metric", 22, |ranking, _| Cell::text(ranking.figure)),
    ("unit", 7, |ranking, _| Cell::text(ranking.unit)),
    ("direction", 9, |ranking, _| Cell::text(enum_text(ranking.direction))),
    ("engine", 16, |_, standing| Cell::text(&standing.engine)),
    ("rank", 7, |_, standing| Cell::count(standing.rank.map(|rank| rank as u64))),
    ("tied", 7, |_, standing| Cell::text_or_empty(standing.rank.map(|_| yes_or_no(standing.tied)))),
    ("value", 16, |_, standing| Cell::number(standing.value)),
    ("low", 16, |_, standing| Cell::number(standing.low)),
    ("high", 16, |_, standing| Cell::number(standing.high)),
    ("n", 5, |_, standing| Cell::count(standing.n as u64)),
    ("ratio_to_best", 13, |_, standing| Cell::number(standing.ratio_to_best)),
    ("ratio_to_best_low", 13, |_, standing| Cell::number(standing.ratio_to_best_low)),
    ("ratio_to_best_high", 13, |_, standing| Cell::number(standing.ratio_to_best_high)),
    ("verdict_vs_best", 20, |_, standing| Cell::text_or_empty(standing.verdict.map(enum_text))),
    ("decided", 7, |_, standing| {
        Cell::text_or_empty(standing.verdict.map(|_| yes_or_no(standing.decided)))
    }),
    ("power_loss", 24, |_, standing| Cell::text_or_empty(standing.lost.map(Lost::description))),
    ("missing", 60, |_, standing| Cell::text_or_empty(standing.missing.as_ref())),
];

/// Every engine at every question.
pub(crate) fn rows(summary: &Summary) -> impl Iterator<Item = (&Ranking, &Standing)> {
    let each = |ranking| move |standing| (ranking, standing);
    summary.rankings.iter().flat_map(move |ranking| ranking.standings.iter().map(each(ranking)))
}

pub(crate) fn csv(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.map(|(name, ..)| name))?;
    for (ranking, standing) in rows(summary) {
        writer.write_record(COLUMNS.map(|(.., cell)| cell(ranking, standing).csv()))?;
    }
    Ok(writer.into_inner()?)
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// A word of a closed set, as JSON has it.
fn enum_text(value: impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// A table for each setting and class; narrow ones have the main ranking of each question alone.
pub(crate) fn tables(summary: &Summary, wide: bool) -> Vec<Titled> {
    let rankings = summary.rankings.iter().filter(|ranking| wide || ranking.main);
    let fields =
        group_equal(rankings, |a, b| (&a.setting, a.durability) == (&b.setting, b.durability));
    let mut tables: Vec<Titled> = fields.iter().map(|field| ranking_table(field, wide)).collect();
    if let Some(last) = tables.last_mut() {
        last.aid = wrap(AID, 0);
        if !wide {
            last.aid += &format!("\n{SHORT_AID}");
        }
    }
    tables
}

/// `RAM 28.0 MiB, commit`: what a field's engines have in common.
pub(crate) fn heading(ranking: &Ranking) -> String {
    let class = ranking.durability.as_str();
    match ranking.setting.as_str() {
        "" => class.to_owned(),
        setting => format!("{setting}, {class}"),
    }
}

/// A column of the terminal's table: whether it is there, its title, and its side.
type Head = (bool, &'static str, Side);

fn ranking_table(field: &[&Ranking], wide: bool) -> Titled {
    let parts = field.iter().any(|ranking| ranking.part.is_some());
    let columns: [Head; 10] = [
        (true, "question", Side::Left),
        (true, "measured by", Side::Left),
        (parts, "part", Side::Left),
        (true, "rank", Side::Left),
        (true, "engine", Side::Left),
        (true, "figure", Side::Right),
        (wide, "spread\n%", Side::Right),
        (true, "behind", Side::Right),
        (true, "from", Side::Right),
        (true, "to", Side::Right),
    ];
    let visible = || columns.iter().filter(|(is_shown, ..)| *is_shown);
    let mut table = Table::new(visible().map(|(_, title, side)| (*title, *side)));
    for ranking in field {
        for (at, standing) in ranking.standings.iter().enumerate() {
            // What is the same below is said once.
            let once = |text: String| if at == 0 { text } else { String::new() };
            let value = figure(ranking, standing).unwrap_or_else(|| {
                let why = standing.missing.as_deref().unwrap_or("no figure");
                let why = format!("{}: {why}", standing.engine);
                format!("- {}", table.footnotes.mark(&why))
            });
            let times = |times: Option<f64>| times.map_or_else(String::new, format::ratio);
            let cells = [
                once(ranking.title()),
                once(ranking.source()),
                once(ranking.part.clone().unwrap_or_default()),
                standing.format_rank().unwrap_or_default(),
                standing.engine.clone(),
                value,
                format_spread(standing),
                times(standing.ratio_to_best.filter(|_| standing.rank.is_some())),
                times(standing.ratio_to_best_low),
                times(standing.ratio_to_best_high),
            ];
            let cells = cells.into_iter().zip(&columns).filter(|(_, (is_shown, ..))| *is_shown);
            table.row(&cells.map(|(cell, _)| cell).collect::<Vec<_>>());
        }
    }
    let title =
        format!("Ranking: {}", field.first().map_or_else(String::new, |ranking| heading(ranking)));
    Titled { name: "ranking", title: title.into(), table, aid: String::new() }
}

/// A figure as tables of its kind show it.
pub(crate) fn figure(ranking: &Ranking, standing: &Standing) -> Option<String> {
    let definition = catalogue::ALL.iter().find(|definition| definition.name == ranking.figure)?;
    Some((format::figure_format(definition).text)(standing.value?))
}

/// A figure in a few letters: `13.2 k`, `950 us`, `4.10`.
pub(crate) fn short_figure(ranking: &Ranking, standing: &Standing) -> Option<String> {
    let value = standing.value?;
    Some(match ranking.unit {
        "1/s" => units::si(value),
        "ns" => format::microseconds(value),
        _ => format::ratio(value),
    })
}

/// How far the range lies around the figure, in percent.
fn format_spread(standing: &Standing) -> String {
    let ends = standing.low.zip(standing.high).zip(standing.value.filter(|value| *value > 0.0));
    match ends.filter(|_| standing.n > 1) {
        Some(((low, high), value)) => {
            let percent = |end: f64| (100.0 * (end - value) / value).abs();
            format!("-{:.0} +{:.0}", percent(low), percent(high))
        }
        None => String::new(),
    }
}

/// How many times behind the best, with how sure that is: `1.31x`, `equal`, `~`, `1.31x?`.
pub(crate) fn format_behind(standing: &Standing) -> Option<String> {
    let times = format!("{}x", format::ratio(standing.ratio_to_best?));
    Some(match standing.verdict? {
        Significance::Base => String::new(),
        Significance::Different => times,
        Significance::NotDistinguishable if standing.decided => "equal".to_owned(),
        Significance::NotDistinguishable if standing.ratio_to_best_low.is_some() => "~".to_owned(),
        Significance::NotDistinguishable | Significance::SpreadUnknown => format!("{times}?"),
    })
}
