//! The top of the screen: the answer, what was run, on what, and how far to trust it.

use super::super::header;
use super::super::wrap::wrap;
use super::contest::Contest;
use super::foot::Ending;
use super::line::{COLUMNS_MAX, Line, cut, sentence};
use crate::tone::Tone;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::engines::EngineInfo;
use kvdyno_analysis::figures::findings::Severity;
use kvdyno_analysis::figures::group::{Group, data, without_part};
use kvdyno_analysis::figures::lists::{has_several, unique};
use kvdyno_analysis::figures::sweep::format_threads;
use kvdyno_analysis::judge::rule::LOOKS;
use kvdyno_record::host::Host;
use kvdyno_record::left_out::sentences;
use kvdyno_record::units;

/// Invalid findings and notes that are shown; the others are only counted.
const SHOWN_MAX: usize = 3;

/// Lines of the answer at most.
const ANSWER_LINES: usize = 5;

/// Lines of any other sentence at most.
const SENTENCE_LINES: usize = 3;

/// Lines of the head at most: the figures need the others.
const HEAD_MAX: usize = 22;

pub(super) fn lines(summary: &Summary, ending: &Ending) -> Vec<Line> {
    let mut lines = answer(summary);
    lines.extend(join_if_short(&run(summary), &work(summary), "   "));
    lines.extend(join_if_short(&host(&summary.host), &engines(summary), " | "));
    lines.push(Line::blank());
    lines.extend(invalid(summary));
    lines.extend(not_done_lines(summary));
    lines.extend(verdicts(summary, ending));
    lines.extend(note_lines(summary));
    lines.extend(skipped_lines(summary));
    if lines.len() > HEAD_MAX {
        lines.truncate(HEAD_MAX - 1);
        let text = format!("  .. and more: {} --findings", ending.command("show"));
        lines.push(Line::plain(cut(&text, COLUMNS_MAX)));
    }
    lines.push(Line::blank());
    lines
}

/// The answer before all else.
fn answer(summary: &Summary) -> Vec<Line> {
    let Some(answer) = summary.answer.first() else { return Vec::new() };
    let text = wrap(&kvdyno_record::text::escape_line(answer), 2);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_cut = lines.len() > ANSWER_LINES;
    lines.truncate(ANSWER_LINES);
    if let Some(last) = lines.last_mut() {
        let more = if is_cut { " .." } else { "" };
        *last = cut(&format!("{last}{more}"), COLUMNS_MAX);
    }
    let lines = lines.into_iter().map(|line| Line::with_tone(Tone::Strong, line, ""));
    lines.chain([Line::blank()]).collect()
}

/// Puts two texts on one line where both fit, else each on its own.
fn join_if_short(one: &str, other: &str, between: &str) -> Vec<Line> {
    let both = format!("{one}{between}{other}");
    if other.is_empty() || both.chars().count() <= COLUMNS_MAX {
        let both = if other.is_empty() { one } else { &both };
        return sentence(None, "", both, SENTENCE_LINES);
    }
    [one, other].into_iter().flat_map(|text| sentence(None, "", text, SENTENCE_LINES)).collect()
}

/// `quick: 4m44s, 85/85 cases, 4 trials`.
fn run(summary: &Summary) -> String {
    let run = &summary.run;
    let took = run.took_ns.map_or_else(|| "not ended".to_owned(), units::duration);
    let trials = units::pluralize(summary.trials(), "trial");
    let (done, planned) = (run.cases_done, run.cases_planned);
    let name = match &run.name {
        Some(name) => format!("{name} ({})", run.suite),
        None => run.suite.clone(),
    };
    format!("{name}: {took}, {done}/{planned} cases, {trials}")
}

/// `1.06 M x 16+1000 B = 1.00 GiB, RAM limit 256 MiB`; where there are several, their number.
fn work(summary: &Summary) -> String {
    let contest = Contest::from_summary(summary);
    let groups = || contest.groups.iter();
    let Some(first) = groups().next() else {
        let jobs = summary.groups.iter().filter(|group| !group.runs.is_empty()).count();
        return format!("raw device, {}", units::pluralize(jobs, "job"));
    };
    let mut words = Vec::new();
    match unique(groups().map(|group| data(group))).as_slice() {
        [one] => words.push(format!("{one} B = {}", units::bytes(first.user_bytes))),
        sets => words.push(format!("{} data sets", sets.len())),
    }
    let limits = unique(groups().map(|group| group.ram())).len();
    let after_load = groups().filter_map(|group| group.load.as_ref()).any(|load| load.before_limit);
    let from = if after_load { " after load" } else { "" };
    words.push(match first.ram_limit_bytes {
        _ if limits > 1 => format!("{limits} RAM limits{from}"),
        Some(limit) => format!("RAM limit {}{from}", units::bytes_in_words(limit)),
        None => "no RAM limit".to_owned(),
    });
    if groups().any(|group| !group.is_held()) {
        words.push("NOT ENFORCED".to_owned());
    }
    let volumes = unique(groups().map(|group| &group.volume)).len();
    if volumes > 1 {
        words.push(format!("{volumes} volumes"));
    }
    words.join(", ")
}

/// `vm: 2 x AMD EPYC, 23.5 GiB, ext4 on vda (virtual)`.
fn host(host: &Host) -> String {
    let machine = &host.machine;
    let model = machine.cpu_model.replace("(R)", "").replace("(TM)", "");
    let model = model.split(" CPU @").next().unwrap_or_default().trim().to_owned();
    let model = model.trim_end_matches(" Processor");
    let memory = units::bytes(machine.memory_bytes);
    let mut text = format!("{}: {} x {model}, {memory}", host.hostname, machine.cpus);
    if let Some(filesystem) = &host.filesystem {
        text += &format!(", {}", filesystem.kind);
    }
    if let Some(drive) = &host.drive {
        text += &format!(" on {}", drive.name);
        if machine.virtual_machine == Some(true) {
            text += " (virtual)";
        }
    }
    text
}

/// `LMDB 0.9.70, RocksDB 11.8.1, both async`.
fn engines(summary: &Summary) -> String {
    let contest = Contest::from_summary(summary);
    let competes = |info: &&EngineInfo| contest.labels.contains(&info.label.as_str());
    let infos: Vec<&EngineInfo> = summary.engines.iter().filter(competes).collect();
    let classes = has_several(infos.iter().map(|info| info.durability));
    let describe = |info: &&EngineInfo| {
        let version = info.worker.as_ref().map(|worker| format!(" {}", worker.version));
        let class = if classes { format!(" {}", info.durability.as_str()) } else { String::new() };
        let label = without_part(&info.label, info.part.as_deref());
        let title = info.worker.as_ref().filter(|_| label == info.engine);
        let name = match &info.part {
            Some(_) => title.map_or(label, |worker| &worker.title).to_owned(),
            None => contest.name(&info.label),
        };
        format!("{name}{}{class}", version.unwrap_or_default())
    };
    // An engine in several parts of a suite is one.
    let mut words: Vec<String> = unique(infos.iter().map(describe));
    if let (false, Some(first)) = (classes, infos.first()) {
        let class = first.durability.as_str();
        words.push(match words.len() {
            1 => class.to_owned(),
            2 => format!("both {class}"),
            _ => format!("all {class}"),
        });
        let groups = || contest.groups.iter();
        if has_several(groups().map(|group| group.power_loss)) {
            let lost = groups().filter_map(|group| {
                Some(format!("{} {}", contest.name(&group.label), group.power_loss?.as_str()))
            });
            words.push(format!("power loss: {}", unique(lost).join(", ")));
        }
    }
    words.join(", ")
}

/// Returns the findings that void figures, which stand on every screen.
fn invalid(summary: &Summary) -> Vec<Line> {
    let void = summary.findings.iter().filter(|finding| finding.severity == Severity::Invalid);
    let all: Vec<Vec<Line>> = void
        .map(|finding| {
            let cases = header::more_cases(finding);
            let text = format!(" {}: {}{cases}", finding.id.as_str(), finding.evidence);
            sentence(Some(Tone::Bad), "INVALID", &text, SENTENCE_LINES)
        })
        .collect();
    limit_sentences(all, "invalid findings: --findings")
}

/// The first sentences, and the number of the others.
fn limit_sentences(mut sentences: Vec<Vec<Line>>, what: &str) -> Vec<Line> {
    if sentences.len() > SHOWN_MAX {
        let more = sentences.len() - SHOWN_MAX;
        sentences.truncate(SHOWN_MAX);
        sentences.push(vec![Line::plain(format!("  and {more} more {what}"))]);
    }
    sentences.concat()
}

/// `NOT DONE rocksdb at 1 thread: does not fit`; while the run is at work nothing is missing yet.
fn not_done_lines(summary: &Summary) -> Vec<Line> {
    let limits = has_several(summary.groups.iter().map(Group::ram));
    let trouble = |group: &Group| {
        let threads = match (group.threads, group.threads_swept) {
            (None, _) => " load".to_owned(),
            (_, Some(threads)) => format!(" at {}", format_threads(threads)),
            _ => String::new(),
        };
        let ram = if limits { format!(", RAM {}", group.ram()) } else { String::new() };
        Some(format!("{}{threads}{ram}: {}", group.label, group.describe_outcomes()?))
    };
    let ended = summary.run.ended_unix_ns.is_some();
    let all = summary.groups.iter().filter(|_| ended).filter_map(trouble);
    let all: Vec<String> = all.collect();
    if all.is_empty() {
        return Vec::new();
    }
    sentence(Some(Tone::Warning), "NOT DONE", &format!(" {}", all.join("; ")), SENTENCE_LINES)
}

/// `VERDICTS all 9 figures decided`; no line for a run that compares nothing.
fn verdicts(summary: &Summary, ending: &Ending) -> Vec<Line> {
    let remedy = remedy(summary, ending);
    let Some(words) = summary.verdicts.description_with_remedy(remedy.as_deref()) else {
        return Vec::new();
    };
    let is_open = !summary.verdicts.undecided.is_empty();
    let tone = if is_open { Tone::Warning } else { Tone::Good };
    sentence(Some(tone), "VERDICTS", &format!(" {words}"), SENTENCE_LINES)
}

/// What would decide the figures that more pairs can decide; none: there is none.
fn remedy(summary: &Summary, ending: &Ending) -> Option<String> {
    summary.verdicts.undecided.iter().find(|figure| figure.reason.is_none())?;
    Some(match minutes_to_decide(summary) {
        Some(minutes) => {
            format!("`{} --budget {minutes}m` adds trials", ending.command("resume"))
        }
        None => "`--budget` would not add enough trials: use a longer --duration".to_owned(),
    })
}

/// About how long the missing pairs take, in steps of ten minutes: as long as the trials so far.
/// None where no figure would be decided by as many trials as a run may have.
fn minutes_to_decide(summary: &Summary) -> Option<u64> {
    const STEP: u64 = 10;
    let left = LOOKS[LOOKS.len() - 1].saturating_sub(summary.trials());
    let open = summary.verdicts.undecided.iter().filter_map(|figure| figure.more_pairs);
    let pairs = open.filter(|pairs| *pairs <= left).max()? as u64;
    let trial_ns = summary.run.took_ns.unwrap_or(0) / (summary.trials() as u64).max(1);
    let minutes = (trial_ns * pairs).div_ceil(60_000_000_000);
    Some(minutes.div_ceil(STEP).max(1) * STEP)
}

/// What the suite contains and the machine could not do.
fn skipped_lines(summary: &Summary) -> Vec<Line> {
    let line = |text: &String| {
        sentence(Some(Tone::Warning), "SKIPPED:", &format!(" {text}"), SENTENCE_LINES)
    };
    let all = sentences(&summary.run.left_out);
    limit_sentences(all.iter().map(line).collect(), "such: --table not-here")
}

/// What could not be enforced or measured, and what reduces the accuracy of figures.
fn note_lines(summary: &Summary) -> Vec<Line> {
    let all = summary.disturbance.iter().chain(&summary.not_measured);
    let line =
        |text: &String| sentence(Some(Tone::Warning), "NOTE:", &format!(" {text}"), SENTENCE_LINES);
    limit_sentences(all.map(line).collect(), "such: --config")
}
