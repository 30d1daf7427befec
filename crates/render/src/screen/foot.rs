//! The end of the screen: what else there is to see, and how.

use super::line::Line;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::findings::Severity;
use kvdyno_analysis::judge::claim::ClaimVerdict;
use kvdyno_record::units;

/// How the run is called in commands, and where its report lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The run, as commands name it; none: the latest, which they need not name.
    pub run: Option<String>,
    /// The report's file, or the command that writes it.
    pub report: String,
}

impl Ending {
    /// A command on the run: `kvdyno show`.
    pub fn command(&self, command: &str) -> String {
        let run = self.run.as_ref().map_or_else(String::new, |run| format!(" {run}"));
        format!("kvdyno {command}{run}")
    }
}

/// `Claims: holds 3, does not hold 1, undecided 2`.
fn claims(summary: &Summary) -> Option<String> {
    let verdicts = [ClaimVerdict::Holds, ClaimVerdict::DoesNotHold, ClaimVerdict::Undecided];
    let counts = verdicts.into_iter().filter_map(|verdict| {
        let n = summary.claims.iter().filter(|claim| claim.verdict == verdict).count();
        (n > 0).then(|| format!("{} {n}", verdict.as_str()))
    });
    let counts: Vec<String> = counts.collect();
    (!counts.is_empty()).then(|| format!("Claims: {}", counts.join(", ")))
}

pub(super) fn lines(summary: &Summary, ending: &Ending) -> Vec<Line> {
    let show = ending.command("show");
    let count = |severity| summary.findings.iter().filter(|f| f.severity == severity).count();
    let counted = |n: usize, word: &str| (n > 0).then(|| units::pluralize(n, word));
    let (invalid, warnings) = (count(Severity::Invalid), count(Severity::Warning));
    let counts = [
        counted(invalid, "invalid finding"),
        counted(warnings, "warning"),
        counted(count(Severity::Info), "note"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let mut texts = Vec::new();
    if !counts.is_empty() {
        texts.push(format!("{}: {show} --findings", counts.join(", ")));
    }
    texts.extend(claims(summary).map(|verdicts| format!("{verdicts}: {show} --table claims")));
    if let Some(study) = &summary.study {
        texts.push(format!("Next to what {} published: {show} --study", study.study.id));
    }
    let drive = summary.groups.iter().any(|group| group.bare_drive);
    let drive = if drive { " | raw device --drive" } else { "" };
    texts.push(format!(
        "All tables --full | one --table cost | wider --wide{drive} | engine options --config"
    ));
    if !summary.run.complete {
        let id = &summary.run.id;
        texts.push(format!("Not complete: kvdyno resume {id} does what is left"));
    }
    texts.push(format!("Report: {}", ending.report));
    // Lines are not cut here: half a command, or half a path, is useless.
    texts.iter().map(|text| Line::plain(kvdyno_record::text::escape_line(text))).collect()
}
