//! Which cases meet a target, as a table: a line for each.

use crate::table::{Side, Table};
use kvdyno_analysis::answers::target::{ConditionRow, Meets, TargetRow};
use kvdyno_analysis::judge::rule::more_in_words;

/// The cases in the order of the run, with a column for each condition.
pub fn table(rows: &[TargetRow]) -> Table {
    let several_phases = rows.iter().any(|row| row.phase != rows[0].phase);
    let mut titles = vec![("case".to_owned(), Side::Left)];
    if several_phases {
        titles.push(("phase".to_owned(), Side::Left));
    }
    let conditions = rows.first().map_or(&[][..], |row| &row.conditions);
    titles.extend(conditions.iter().map(|condition| (title(condition), Side::Right)));
    titles.extend([("n".to_owned(), Side::Right), ("target".to_owned(), Side::Left)]);
    let mut table = Table::new(titles);
    for row in rows {
        let mut cells = vec![row.case.clone()];
        if several_phases {
            cells.push(row.phase.clone());
        }
        cells.extend(row.conditions.iter().map(value));
        let more = (row.meets == Meets::Undecided && row.reason.is_none())
            .then(|| more_in_words(row.more_trials, "trial"));
        let why = row.reason.clone().or(more);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        cells.extend([row.trials.to_string(), format!("{}{why}", row.meets.as_str())]);
        table.row(&cells);
    }
    table
}

/// `update.p99 < 5 ms`.
fn title(condition: &ConditionRow) -> String {
    let (unit, bound) = (condition.unit, condition.bound);
    format!("{}\n{} {}", condition.figure, unit.sign(), unit.format_value(bound))
}

/// `4.8 ms (4.7 to 5.1)`.
fn value(condition: &ConditionRow) -> String {
    let Some(value) = condition.value else { return "-".to_owned() };
    let range = condition.low.zip(condition.high).map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", condition.unit.format_value(low), condition.unit.format_value(high))
    });
    format!("{}{range}", condition.unit.format_value(value))
}
