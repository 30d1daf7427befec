//! A run in a few lines, for a message or an issue: the answer, how far to trust it, one table, and
//! what it was measured on, as Markdown or as Slack shows it. No path of the host and not its name.

use super::columns::{Row, loads, phases};
use super::format::format_count;
use super::header;
use super::markdown::{escape_markdown, table, title};
use super::screen::drive_table;
use super::table::{Side, Table};
use kvdyno_analysis::answers::answer::answers;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::findings::Severity;
use kvdyno_analysis::figures::group::{Group, data};
use kvdyno_analysis::figures::lists::{has_several, unique};
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_analysis::figures::relative::RelativeTo;
use kvdyno_record::hlog::Kind as Clock;
use kvdyno_record::host::Host;
use kvdyno_record::text::escape_line;
use kvdyno_record::units;

/// How to read the last column.
const VERSUS: &str = "vs. first: operations per second over those of the first engine of the same \
                      durability class, the geometric mean over pairs of trials with its interval \
                      (= equal, ~ undecided, ? too few trials to say). ";

/// Columns of Slack's code blocks in a narrow window.
const SLACK_WIDTH: usize = 80;

/// The lines as Markdown.
pub fn page(summary: &Summary) -> String {
    let mut text = format!("## {}\n\n", escape_markdown(title(summary)));
    for (workload, sentence) in list_sentences(summary) {
        let workload =
            workload.map_or_else(String::new, |name| format!("**{}**: ", escape_markdown(&name)));
        text += &format!("{workload}{}\n\n", escape_markdown(&sentence));
    }
    if let Some(words) = summary.verdicts.description() {
        text += &format!("{}\n\n", escape_markdown(&words));
    }
    if let Some(words) = &summary.disturbance {
        text += &format!("{}\n\n", escape_markdown(words));
    }
    for line in list_invalid(summary) {
        text += &format!("{}\n\n", escape_markdown(&line));
    }
    text += &table(&figures(summary, true));
    format!(
        "{text}\n{}{}\n",
        escape_markdown(explain_ratios(summary)),
        escape_markdown(&describe_setup(summary))
    )
}

/// The lines as a message in Slack, which shows no tables: the table is a block of code.
pub fn slack_message(summary: &Summary) -> String {
    let mut text = format!("*{}*\n", escape_slack(title(summary)));
    for (workload, sentence) in list_sentences(summary) {
        let workload =
            workload.map_or_else(String::new, |name| format!("*{}*: ", escape_slack(&name)));
        text += &format!("{workload}{}\n", escape_slack(&sentence));
    }
    if let Some(words) = summary.verdicts.description() {
        text += &format!("{}\n", escape_slack(&words));
    }
    if let Some(words) = &summary.disturbance {
        text += &format!("{words}\n");
    }
    for line in list_invalid(summary) {
        text += &format!("{}\n", escape_slack(&line));
    }
    // Cells are made harmless before they are laid out: a blank more would move those behind it.
    let table = figures(summary, false).map_cells(escape_slack).text_within(SLACK_WIDTH);
    let measured_on = escape_slack(&describe_setup(summary));
    format!("{text}```\n{table}\n```\n{}{measured_on}\n", explain_ratios(summary))
}

/// Returns the answer for each workload; for bare drives, the one line for all.
fn list_sentences(summary: &Summary) -> Vec<(Option<String>, String)> {
    let each = answers(summary, summary.search.as_ref());
    if each.is_empty() {
        return summary.answer.iter().map(|sentence| (None, sentence.clone())).collect();
    }
    each.into_iter().map(|answer| (Some(answer.workload), answer.sentence)).collect()
}

/// A line for each finding that makes figures invalid, without its evidence: that may name a path.
fn list_invalid(summary: &Summary) -> impl Iterator<Item = String> {
    let invalid = summary.findings.iter().filter(|one| one.severity == Severity::Invalid);
    invalid.map(|finding| {
        let cases = units::pluralize(finding.cases.len().max(1), "case");
        format!("{} {}: {cases}", header::severity(finding.severity), finding.id.as_str())
    })
}

/// How to read the last column; bare drives have none.
fn explain_ratios(summary: &Summary) -> &'static str {
    if summary.groups.iter().any(Group::competes) { VERSUS } else { "" }
}

/// Returns a line without a quote, which would end a block, and without a mention such as
/// `<!channel>` or `@here`, or an entity such as `&lt;`: a blank stands behind each mark. An entity
/// in place of the mark would be shown as it is where somebody pastes the message.
fn escape_slack(text: &str) -> String {
    let mut plain = String::new();
    let text = escape_line(text).replace('`', "'");
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        plain.push(letter);
        if matches!(letter, '<' | '@' | '&') && letters.peek().is_some_and(|next| *next != ' ') {
            plain.push(' ');
        }
    }
    plain
}

/// A column: whether it is there, its title, and what is in it.
type Column = (bool, &'static str, Side, fn(&Row<'_>) -> String);

/// The columns that distinguish the rows: the engine, and the others where they differ.
fn axes(rows: &[Row<'_>]) -> [Column; 6] {
    let groups = || rows.iter().map(|row| row.group);
    let volume = has_several(groups().map(|group| &group.volume));
    let part = groups().any(|group| group.part.is_some());
    [
        (true, "engine", Side::Left, |row| row.group.engine_label().to_owned()),
        (part, "part", Side::Left, |row| row.group.part.clone().unwrap_or_default()),
        (volume, "volume", Side::Left, |row| row.group.volume.clone().unwrap_or_default()),
        (has_several(groups().map(data)), "data", Side::Left, |row| data(row.group)),
        (has_several(groups().map(Group::ram)), "RAM", Side::Left, |row| row.group.ram()),
        // Points of a search for a rate differ in nothing else.
        (has_several(rows.iter().filter_map(find_offered_rate)), "offered", Side::Left, |row| {
            find_offered_rate(row).map_or_else(|| "-".to_owned(), units::rate)
        }),
    ]
}

/// A line for each role of each engine; where nothing is measured but bare drives or loads, for
/// each of those. A narrow table has p99 only.
fn figures(summary: &Summary, wide: bool) -> Table {
    let competes = |row: &Row<'_>| row.group.competes();
    let rows: Vec<Row<'_>> =
        phases(summary).flat_map(Row::roles).filter(|row| competes(row)).collect();
    if let Some(table) = drive_table(summary).filter(|_| rows.is_empty()) {
        return table;
    }
    if rows.is_empty() {
        let loads: Vec<Row<'_>> = loads(summary).filter(|row| competes(row)).collect();
        let rates: [Column; 2] = [
            (true, "records/s", Side::Right, |row| rate(row, &c::RECORDS_PER_S)),
            (true, "vs. first", Side::Right, versus),
        ];
        return fill_table(&loads, &rates);
    }
    let several_phases = has_several(rows.iter().map(|row| row.phase));
    let several_roles = has_several(rows.iter().map(Row::role_name));
    let columns: [Column; 9] = [
        (true, "threads", Side::Right, threads),
        (several_phases, "phase", Side::Left, |row| row.phase.to_owned()),
        (several_roles, "role", Side::Left, |row| row.role_name().unwrap_or_default().to_owned()),
        (true, "operations", Side::Left, |row| row.op().to_owned()),
        (true, "ops/s", Side::Right, |row| match rate(row, &c::OPS_PER_S) {
            none if none == "-" => row.group.describe_outcomes().unwrap_or(none),
            rate => rate,
        }),
        (wide, "p50 us", Side::Right, |row| us(row, 0)),
        (true, "p99 us", Side::Right, |row| us(row, 3)),
        (wide, "p99.9 us", Side::Right, |row| us(row, 4)),
        (true, "vs. first", Side::Right, |row| match row.op {
            Some(_) => String::new(),
            None => versus(row),
        }),
    ];
    fill_table(&rows, &columns)
}

/// The ratio to the first engine, with its interval.
fn versus(row: &Row<'_>) -> String {
    row.relative().map_or_else(|| "-".to_owned(), RelativeTo::cell_with_interval)
}

/// Returns a table of these columns. The columns that name a row are on the left, and figures begin
/// at a rate.
fn fill_table(rows: &[Row<'_>], columns: &[Column]) -> Table {
    let axes = axes(rows);
    let columns = || axes.iter().chain(columns).filter(|(is_shown, ..)| *is_shown);
    let mut table = Table::new(columns().map(|(_, title, side, _)| (*title, *side)));
    table.lead = columns().position(|(_, title, ..)| title.ends_with("/s"));
    for row in rows {
        table.row(&columns().map(|(.., cell)| cell(row)).collect::<Vec<_>>());
    }
    table
}

/// Returns the role's threads. The swept number, where it is another role's, tells this line from
/// the next.
fn threads(row: &Row<'_>) -> String {
    let threads = row.threads().unwrap_or(0);
    match row.group.threads_swept.filter(|swept| *swept != threads) {
        Some(swept) => format!("{threads} (with {swept})"),
        None => threads.to_string(),
    }
}

fn rate(row: &Row<'_>, figure: &Definition) -> String {
    row.value(figure).map_or_else(|| "-".to_owned(), format_count)
}

/// The rate of a schedule.
fn find_offered_rate(row: &Row<'_>) -> Option<f64> {
    row.role.and_then(|(_, role)| role.offered_rate())
}

fn us(row: &Row<'_>, at: usize) -> String {
    // A role of several operations has the times of each of them.
    if row.is_pooled() {
        return String::new();
    }
    let open = row.role.is_some_and(|(_, role)| role.open_loop);
    let times = c::times(if open { Clock::Response } else { Clock::Service });
    row.value(times[at]).map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3))
}

/// `2 x AMD EPYC, 23.5 GiB of RAM, virtual machine, Linux 6.18.0, ext4 on vda; LMDB 0.9.70, async;
/// kvdyno 0.1.0, 2 trials`.
fn describe_setup(summary: &Summary) -> String {
    let (host, machine) = (&summary.host, &summary.host.machine);
    let mut parts = vec![
        format!("{} x {}", machine.cpus, machine.cpu_model),
        format!("{} of RAM", units::bytes(machine.memory_bytes)),
    ];
    if machine.virtual_machine == Some(true) {
        parts.push("virtual machine".to_owned());
    }
    parts.push(format!("Linux {}", host.kernel));
    let kind = host.filesystem.as_ref().map(|filesystem| filesystem.kind.clone());
    let storage = [kind, drive_name(host)];
    let storage: Vec<String> = storage.into_iter().flatten().collect();
    if !storage.is_empty() {
        parts.push(storage.join(" on "));
    }
    let engines: Vec<String> = summary.engines.iter().filter_map(engine).collect();
    let data: Vec<String> = datasets(summary);
    let parts = [
        parts.join(", "),
        if data.is_empty() { String::new() } else { format!("data {}", data.join(" and ")) },
        engines.join(", "),
        units::pluralize(summary.trials(), "trial"),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("Measured on {}, kvdyno {}.", parts.join("; "), summary.run.program)
}

/// The drive below the data: its model, or the kernel's name of it.
pub(crate) fn drive_name(host: &Host) -> Option<String> {
    let drive = host.drive.as_ref()?;
    Some(drive.model.as_ref().unwrap_or(&drive.name).clone())
}

fn engine(engine: &kvdyno_analysis::figures::engines::EngineInfo) -> Option<String> {
    let worker = engine.worker.as_ref()?;
    let durability = engine.durability.as_str();
    let title = if engine.label == engine.engine { &worker.title } else { &engine.label };
    (!worker.bare_drive && !worker.stores_nothing)
        .then(|| format!("{title} {} ({durability})", worker.version))
}

fn datasets(summary: &Summary) -> Vec<String> {
    let set = |group: &Group| {
        let ram = group
            .ram_limit_bytes
            .map_or_else(|| "no RAM limit".to_owned(), |_| format!("RAM limit {}", group.ram()));
        format!("{} B ({}, {ram})", data(group), units::bytes(group.user_bytes))
    };
    unique(summary.groups.iter().filter(|group| group.competes()).map(set))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn a_run_in_a_few_lines_without_a_path() {
        let summary = Fixture::new().summary();
        let text = page(&summary);
        assert!(!text.contains("/mnt/") && !text.contains(&summary.host.hostname), "{text}");
        assert!(text.lines().count() < 40, "{text}");
        insta::assert_snapshot!("brief", text);
    }

    #[test]
    fn slack_has_a_narrow_table_and_pings_nobody() {
        let wide = Fixture::with_mixed_role(4).summary();
        let mut evil = Fixture::new();
        evil.plan.title = "```<!channel> & <@U1>".to_owned();
        for summary in [Fixture::new().summary(), wide, evil.summary()] {
            let text = slack_message(&summary);
            let blocks: Vec<&str> = text.split("```").collect();
            assert_eq!(blocks.len(), 3, "{text}");
            assert!(blocks[1].lines().all(|line| line.chars().count() <= SLACK_WIDTH), "{text}");
            assert!(blocks[1].contains("p99 us") && blocks[0].contains("LMDB"), "{text}");
            assert_eq!(blocks[1].matches("---\n").count(), 1, "one table of whole rows: {text}");
            assert!(!text.contains("<!") && !text.contains("<@"), "{text}");
            assert!(!text.contains("/mnt/") && !text.contains(&summary.host.hostname), "{text}");
        }
        insta::assert_snapshot!("slack", slack_message(&Fixture::new().summary()));
    }

    #[test]
    fn bare_drives_have_their_answer_and_their_jobs() {
        let summary = Fixture::with_drive_alone(4).summary();
        for text in [page(&summary), slack_message(&summary)] {
            assert!(text.contains("p99") && text.contains("IOPS"), "{text}");
            assert!(!text.contains("vs. first") && !text.contains("; ;"), "{text}");
            assert!(text.contains(summary.groups.last().unwrap().label.as_str()), "{text}");
        }
    }

    /// Names are somebody's own, and their marks move no column.
    #[test]
    fn a_mark_in_a_name_mentions_nobody_and_moves_no_column() {
        assert_eq!(escape_slack("a<b & <!here> @all &lt;`"), "a< b & < !here> @ all & lt;'");
        let mut table = Table::new([("engine", Side::Left), ("ops/s", Side::Right)]);
        for (engine, rate) in [("<@U1>&amp;@here", "10"), ("lmdb", "1,000")] {
            table.row(&[engine, rate].map(str::to_owned));
        }
        let text = table.map_cells(escape_slack).text_within(SLACK_WIDTH);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(text.contains("< @ U1>& amp;@ here     10"), "{text}");
        assert!(widths[2] == widths[0] && widths[3] == widths[0], "{text}");
    }

    #[test]
    fn a_message_says_which_figures_are_void() {
        let mut fixture = Fixture::with_trials(4);
        fixture.make_void("rocksdb_t1_r1");
        let summary = fixture.summary();
        for text in [page(&summary), slack_message(&summary)] {
            assert!(text.contains("INVALID debug-build: 1 case"), "{text}");
        }
    }

    /// A target of 500 us would be met by both together.
    #[test]
    fn a_mix_has_a_line_for_each_operation_and_no_latency_of_all() {
        let text = page(&Fixture::with_mixed_role(4).summary());
        let line = |op: &str| {
            let line = text.lines().find(|line| line.starts_with("| LMDB") && line.contains(op));
            line.unwrap_or_else(|| panic!("{op}: {text}")).to_owned()
        };
        assert!(line(" get+update |").contains("|  |  |  |"), "{text}");
        assert!(line(" update |").contains(" 721.7 |"), "{text}");
    }
}
