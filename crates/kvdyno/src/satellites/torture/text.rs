//! A torture as text: a table of results, and a sentence for each class.

use super::is_recorded;
use crate::printer::Printer;
use kvdyno_analysis::figures::lost::Lost;
use kvdyno_record::text::shell_word;
use kvdyno_record::torture::{ClassRecord, TortureRecord, Trial, TrialKind};
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::tone::Tone;
use kvdyno_render::wrap::wrap;
use kvdyno_torture::verdict::{Verdict, judge};
use std::path::Path;

pub(super) fn print(record: &TortureRecord, dir: &Path, printer: &Printer) {
    printer.data(&table(record));
    if record.ended_unix_ns.is_none() {
        printer.warning("it was interrupted: further classes were not tried");
    }
    for class in &record.classes {
        print_class(class, dir, printer);
    }
    printer.data(&wrap(
        "States without losses are no proof: `< 1 %` is the upper bound of such losses with 95 % \
         confidence. Only a test that cuts the drive's power can show that the drive itself keeps \
         flushed data (docs/torture.md).",
        0,
    ));
}

fn table(record: &TortureRecord) -> String {
    use Side::{Left, Right};
    let columns = [
        ("engine", Left),
        ("class", Left),
        ("trial", Left),
        ("states", Right),
        ("took", Right),
        ("found", Left),
    ];
    let mut table = Table::new(columns);
    for class in &record.classes {
        for (index, trial) in class.trials.iter().enumerate() {
            let once = |text: &str| if index == 0 { text.to_owned() } else { String::new() };
            table.row(&[
                once(&class.engine),
                once(class.durability.as_str()),
                trial.kind.as_str().to_owned(),
                trial.tally.states.to_string(),
                units::duration(trial.took_ns / 100_000_000 * 100_000_000),
                trial_result(trial),
            ]);
        }
    }
    table.text()
}

/// `lost 0 of 300 (< 1 %)`, `lost 62 of 300 (20.7 %), corrupt 178 (not opened 175, torn 3)`.
pub(super) fn trial_result(trial: &Trial) -> String {
    let tally = &trial.tally;
    let lost = Lost::from_tally(tally);
    // A sync has few moments: too few for an upper bound.
    let mut text = if trial.kind == TrialKind::Sync { lost.counts() } else { lost.description() };
    if tally.corrupt > 0 {
        let kinds = [
            (tally.unopened, "not opened"),
            (tally.torn, "torn"),
            (tally.partial_batches, "partial batch"),
            (tally.phantoms, "phantoms"),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{what} {count}"))
            .collect();
        text += &format!(" ({})", kinds.join(", "));
    }
    let others = [
        (tally.holes, "with a hole"),
        (tally.before_first_ack, "not opened before the first acknowledgement"),
        (tally.unmounted, "not mounted"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {what} {count}");
    }
    if trial.kind == TrialKind::Control && !tally.is_sound() {
        text += ": detected";
    }
    text
}

fn print_class(class: &ClassRecord, dir: &Path, printer: &Printer) {
    let label = format!("{} {}", class.engine, class.durability.as_str());
    let (tone, words) = match verdict(class) {
        Verdict::Held => (Tone::Good, "held".to_owned()),
        Verdict::Broken(broken) => (Tone::Bad, format!("broken: {}", broken.join("; "))),
        Verdict::Inconclusive(why) => (Tone::Warning, format!("inconclusive: {why}")),
    };
    printer.marked_data(tone, &label, &format!(": {words}"));
    if let (Tone::Bad, Some(why)) = (tone, &class.failed) {
        printer.data(&format!("  {}", wrap(&format!("its trials were not finished: {why}"), 4)));
    }
    let has_examples =
        |trial: &&Trial| trial.kind != TrialKind::Control && !trial.examples.is_empty();
    let mut examples = class.trials.iter().filter(has_examples).peekable();
    if examples.peek().is_some() {
        printer.data(&format!("  {}", wrap(&format!("its settings: {}", class.settings), 4)));
    }
    for trial in examples {
        let Some(example) = trial.examples.first() else { continue };
        let (kind, state) = (trial.kind.as_str(), example.state);
        let text = format!(
            "{kind}, state {state}: {}, {} writes acknowledged: {}",
            example.how, example.acknowledged, example.damage
        );
        printer.data(&format!("  {}", wrap(&text, 4)));
        if is_recorded(trial.kind) && class.recording.is_some() {
            let dir = shell_word(&dir.display().to_string());
            let (engine, class) = (&class.engine, class.durability.as_str());
            printer.data(&format!(
                "    again: kvdyno torture --replay {dir} --engine {engine} \
                 --durability {class} --power-loss {state}"
            ));
        }
    }
}

/// Judges a class. A failure of later trials does not mend a promise that was broken.
pub(super) fn verdict(class: &ClassRecord) -> Verdict {
    match (judge(class.durability, class.power_loss, &class.trials), &class.failed) {
        (Verdict::Held | Verdict::Inconclusive(_), Some(why)) => Verdict::Inconclusive(why.clone()),
        (verdict, _) => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::engine::{Durability, PowerLoss};
    use kvdyno_record::torture::Tally;

    fn trial(kind: TrialKind, tally: Tally) -> Trial {
        Trial { kind, tally, examples: Vec::new(), took_ns: 0 }
    }

    #[test]
    fn what_was_found_is_counted_and_nothing_is_no_proof() {
        let power = |tally| trial_result(&trial(TrialKind::Power, tally));
        let sound = |states| Tally { states, sound: states, ..Tally::default() };
        assert_eq!(power(sound(300)), "lost 0 of 300 (< 1 %)");
        let bad = Tally {
            states: 300,
            lost: 62,
            corrupt: 178,
            torn: 3,
            unopened: 175,
            holes: 9,
            ..Tally::default()
        };
        let words = "lost 62 of 300 (20.7 %), corrupt 178 (not opened 175, torn 3), with a hole 9";
        assert_eq!(power(bad.clone()), words);
        assert_eq!(trial_result(&trial(TrialKind::Control, bad)), format!("{words}: detected"));
    }

    /// Regression test: it was `inconclusive`, and the loss only in the table.
    #[test]
    fn trials_that_fail_later_hide_no_broken_promise() {
        let verdict_of = |lost| {
            let killed = trial(TrialKind::Kill, Tally { states: 50, lost, ..Tally::default() });
            verdict(&ClassRecord {
                engine: "liar".to_owned(),
                version: "1".to_owned(),
                worker_sha256: String::new(),
                library_sha256: None,
                durability: Durability::Commit,
                settings: String::new(),
                power_loss: PowerLoss::Keeps,
                options: Vec::new(),
                trials: vec![killed],
                recording: None,
                failed: Some("interrupted".to_owned()),
                took_ns: 1,
            })
        };
        let broken = "kill -9: 7 of 50 with acknowledged writes lost".to_owned();
        assert_eq!(verdict_of(7), Verdict::Broken(vec![broken]));
        assert_eq!(verdict_of(0), Verdict::Inconclusive("interrupted".to_owned()));
    }
}
