//! A run's tables for a blog post or a pull request: GitHub's Markdown, with what has to stand
//! above them to be believed.

use super::command::command_line;
use super::header;
use super::table::{Side, Table};
use super::tables;
use kvdyno_analysis::answers::answer::answers;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_record::text::escape_line;

/// The page: the answer, a short header, the tables with their footnotes, the findings.
pub fn page(summary: &Summary) -> String {
    let mut text = format!("## {}\n\n", escape_markdown(title(summary)));
    if let Some(words) = summary.verdicts.description() {
        text += &format!("**{}**\n\n", escape_markdown(&words));
    }
    for answer in answers(summary, summary.search.as_ref()) {
        text += &format!(
            "**{}**: {}\n\n",
            escape_markdown(&answer.workload),
            escape_markdown(&answer.sentence)
        );
    }
    for (word, line) in header::lines(summary) {
        text += &format!("- **{}**: {}\n", escape_markdown(&word), escape_markdown(&line));
    }
    // Indented code: nothing in it is taken for a mark.
    let command = command_line(&summary.run.command);
    text += &format!("\nThe command:\n\n    {}\n", escape_line(&command));
    for titled in tables::all(summary, false) {
        text += &format!("\n### {}\n\n{}", escape_markdown(&titled.title), table(&titled.table));
        for note in titled.table.footnotes.lines() {
            text += &format!("\n{}\n", escape_markdown(&note));
        }
        text += &format!("\n{}\n", escape_markdown(&titled.aid.replace('\n', " ")));
    }
    if !summary.findings.is_empty() {
        text += "\n### Findings\n\n";
    }
    for finding in &summary.findings {
        text += &format!(
            "- **{}** {}: {}; {}\n",
            header::severity(finding.severity),
            escape_markdown(&finding.id.as_str()),
            escape_markdown(&format!("{}{}", finding.evidence, header::more_cases(finding))),
            escape_markdown(&finding.advice)
        );
    }
    text
}

/// The heading: the suite's one line about itself, else its name.
pub(super) fn title(summary: &Summary) -> &str {
    let run = &summary.run;
    if run.title.is_empty() { &run.suite } else { &run.title }
}

pub(super) fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let titles =
        table.columns().iter().map(|(title, _)| escape_markdown(&title.replace('\n', " ")));
    let sides = table.columns().iter().map(|(_, side)| match side {
        Side::Left => ":--".to_owned(),
        Side::Right => "--:".to_owned(),
    });
    let mut text = line(titles.collect()) + &line(sides.collect());
    for row in table.rows() {
        text += &line(row.iter().map(|cell| escape_markdown(cell)).collect());
    }
    text
}

/// Returns a text on one line, in which nothing is taken for a mark of Markdown or HTML.
pub(super) fn escape_markdown(text: &str) -> String {
    let text = escape_line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let inside = |c: char| c.is_alphanumeric();
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            // Inside a word it marks nothing.
            '_' if inside(before) && characters.peek().copied().is_some_and(inside) => {
                escaped.push(c);
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // GitHub and GitLab notify the user of that name, even of a number.
            '@' if !inside(before) && characters.peek().copied().is_some_and(inside) => {
                escaped += "@<!-- -->";
            }
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn the_page_of_the_fixture() {
        insta::assert_snapshot!("markdown", page(&Fixture::new().summary()));
    }

    #[test]
    fn a_name_behind_an_at_sign_notifies_nobody() {
        assert_eq!(escape_markdown("@me, 1 @2, a@b, @ "), "@<!-- -->me, 1 @<!-- -->2, a@b, @ ");
    }

    #[test]
    fn hostile_text_is_shown_and_nothing_else() {
        let mut fixture = Fixture::new();
        fixture.plan.title = "</h2><script>alert(1)</script>\n# [x](javascript:y)".to_owned();
        fixture.run.command = vec!["kvdyno".to_owned(), "```\n<b>".to_owned()];
        for case in &mut fixture.plan.cases {
            case.label = "a|b\n|--|`c`".to_owned();
        }
        for case in &mut fixture.cases {
            case.record.case.label = "a|b\n|--|`c`".to_owned();
        }
        let text = page(&fixture.summary());
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
        assert!(text.contains("\n    kvdyno '```\\n<b>'\n"), "{text}");
        assert!(text.contains(r"| a\|b\\n\|--\|\`c\` |"), "{text}");
        // Every row of a table has as many cells as its head.
        let cells = |line: &str| line.replace(r"\|", "").matches('|').count();
        let tables = text.split("\n### ").skip(1);
        for table in tables {
            let rows: Vec<usize> =
                table.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
            assert!(rows.windows(2).all(|two| two[0] == two[1]), "{table}");
        }
    }
}
