//! Checks of a suite that measures the user's own database.

use crate::written::mistake::Mistakes;
use crate::written::read::At;
use crate::written::typed::{Data, Sharing, Typed};
use kvdyno_record::workload::Op;

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(from) = &typed.data.from else { return };
    check_keys(&typed.data, mistakes);
    if let (Some(keys), Some(_)) = (&from.keys, &from.keys_file) {
        let mistake = mistakes.at(&keys.span, "keys are drawn, or read from a file");
        mistake.label("expected either `keys` or `keys_file`");
    }
    for phase in &typed.phase {
        let what = match phase.kind() {
            "load" => "the database is there already",
            "verify" => "kvdyno does not know its values",
            _ => continue,
        };
        let label = format!("expected no {} with `from` in [data]", phase.kind());
        mistakes.at(&phase.span, what).label(label);
    }
    let stems = typed.engine.iter().map(|engine| &engine.name.0);
    let first = stems.clone().next();
    if let Some(other) = typed.engine.iter().find(|engine| Some(&engine.name.0) != first) {
        let names = [first.map_or("", String::as_str), &other.name.0].join("` and `");
        let what = format!("found `{names}`: two engines cannot use one database");
        mistakes.at(&other.name.span, what).label("expected one engine with `from` in [data]");
    }
    if let Some(database) = &typed.run.database
        && database.value != Sharing::State
    {
        let what = "each case works on a copy of your database";
        let mistake = mistakes.at(&database.span, what);
        mistake.label("expected no `database`, or \"state\", with `from` in [data]");
    }
    if let Some(volume) = typed.volume.first() {
        let what = "copies of your database lie in the data directory";
        mistakes.at(&volume.span, what).label("expected no [[volume]] with `from` in [data]");
    }
    check_cases(typed, mistakes);
    check_entries(typed, mistakes);
}

/// Refuses settings that need a load or an earlier case: every case works on a fresh copy.
fn check_cases(typed: &Typed, mistakes: &mut Mistakes) {
    let pilots = typed.roles().filter_map(|role| role.rate.as_ref()?.pilot());
    for pilot in pilots {
        let mistake = mistakes.at(&pilot.span, "no pilot runs on a database of your own");
        mistake.label("expected a number, such as { per_second = 5000 }, with `from` in [data]");
    }
    let once = typed.measures().filter_map(|(_, measure)| measure.once.as_ref());
    for once in once.filter(|once| once.value) {
        let mistake = mistakes.at(&once.span, "no case loads your database");
        mistake.label("expected no `once` with `from` in [data]");
    }
    for pack in typed.engine.iter().filter_map(|engine| engine.pack.as_ref()) {
        let mistake = mistakes.at(&pack.span, "your database is stored as it is");
        mistake.label("expected no `pack` with `from` in [data]");
    }
}

/// Checks the operations of all roles; called again once traces are read.
pub(crate) fn check_entries(typed: &Typed, mistakes: &mut Mistakes) {
    if typed.data.from.is_none() {
        return;
    }
    let entries =
        typed.roles().flat_map(|role| role.entries().iter().map(move |entry| (role, entry)));
    for (role, entry) in entries {
        let keys = entry.keys.as_ref().or(role.keys.as_ref());
        let what = match entry.op {
            _ if keys.is_some_and(|keys| !keys.finds()) => "which keys are missing is unknown",
            Op::Insert => "new keys cannot be made in the form of your own",
            Op::Delete => "deletes would remove keys that later requests read",
            _ if entry.op.is_of_graph() => "graph requests need a graph that kvdyno loaded",
            _ => continue,
        };
        let mistake = mistakes.at(&entry.span, what);
        mistake.label("expected get, multiget, scan, walk, update or rmw with `from` in [data]");
    }
}

/// Refuses keys of `[data]` that the database determines.
fn check_keys(data: &At<Data>, mistakes: &mut Mistakes) {
    let spans = [
        ("records", data.records.as_ref().map(|at| &at.span)),
        ("size", data.size.as_ref().map(|at| &at.span)),
        ("key_bytes", data.key_bytes.as_ref().map(|at| &at.span)),
        ("key_format", data.key_format.as_ref().map(|at| &at.span)),
        ("key_order", data.key_order.as_ref().map(|at| &at.span)),
        ("value_bytes", data.value_bytes.as_ref().map(|at| &at.span)),
        ("verify", data.verify.as_ref().map(|at| &at.span)),
        ("linkbench", data.linkbench.as_ref().map(|at| &at.span)),
    ];
    for (key, span) in spans.into_iter().filter_map(|(key, span)| Some((key, span?))) {
        let mistake = mistakes.at(span, format!("your database decides `{key}`"));
        mistake.label(format!("expected no `{key}` with `from`"));
    }
}
