//! `kvdyno calibrate`: runs one engine against itself, to measure the noise of this machine.

use crate::cli::CalibrateArgs;
use crate::printer::Printer;
use crate::records::runs::{self, CALIBRATE};
use crate::running::{pair, workers};
use kvdyno_analysis::judge::versus::Calibration;
use kvdyno_record::exit::Exit;
use kvdyno_render::versus as text;
use kvdyno_render::wrap::wrap;
use toml::{Table, Value};

pub(crate) fn run(args: &CalibrateArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let is_found = |name: &str| workers::find(name).is_ok();
    let twins = |engines: &[Table]| twins_of(engines, args.engine.as_deref(), is_found);
    let prepared = pair::prepared(&args.pair, CALIBRATE, WHAT, twins)?;
    let Some((folder, record)) = pair::run(&prepared, &args.pair, printer)? else {
        return Ok(Exit::Interrupted);
    };
    let exit = record.figures.verdict;
    runs::warn_of_findings(&record.figures, printer);
    let Some(calibration) = Calibration::from_record(&record) else {
        printer.warning("too few trials completed: no calibration");
        printer.hint(&format!("`kvdyno show {}` shows the reason", folder.path.display()));
        return Ok(if exit == Exit::Ok { Exit::Invalid } else { exit });
    };
    if args.json {
        printer.json(&calibration)?;
    } else {
        print(&calibration, args.all, printer);
    }
    Ok(exit)
}

fn print(calibration: &Calibration, all: bool, printer: &Printer) {
    printer.heading(&wrap(&text::resolution(calibration), 0));
    printer.data("");
    printer.data(&text::resolutions(calibration, all).text());
    printer.data(
        "resolves: 95 % of all random halvings of these trials have medians closer than that, and \
         the two\nidentical labels differed by no more. `kvdyno compare` claims no smaller \
         difference here; more or\nlonger trials resolve smaller ones.",
    );
}

/// One engine twice: the requested one, otherwise the suite's first installed engine that stores
/// data, otherwise the null engine.
fn twins_of(engines: &[Table], name: Option<&str>, is_found: impl Fn(&str) -> bool) -> [Table; 2] {
    let word = |engine: &Table, key: &str| Some(engine.get(key)?.as_str()?.to_owned());
    let is_called = |engine: &&Table, name: &str| {
        [word(engine, "label"), word(engine, "name")].contains(&Some(name.to_owned()))
    };
    let stores = |engine: &&Table| {
        word(engine, "name").is_some_and(|name| name != "null" && is_found(&name))
    };
    let chosen = match name {
        Some(name) => engines.iter().find(|engine| is_called(engine, name)),
        None => engines.iter().find(stores),
    };
    let name = name.unwrap_or("null");
    let plain = || Table::from_iter([("name".to_owned(), Value::from(name))]);
    let chosen = chosen.cloned().unwrap_or_else(plain);
    let stem = word(&chosen, "label").or_else(|| word(&chosen, "name"));
    let stem = stem.unwrap_or_else(|| name.to_owned());
    let stem = stem.trim_end_matches("-a").trim_end_matches("-b");
    ["a", "b"].map(|letter| {
        let mut twin = chosen.clone();
        twin.insert("label".to_owned(), Value::String(format!("{stem}-{letter}")));
        twin
    })
}

const WHAT: &str = "one engine under two labels";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::pair::with_two;

    const SUITE: &str = "\
        [suite]\nname = \"mine\"\n\
        [[engine]]\nname = \"null\"\n\
        [[engine]]\nname = \"rocksdb\"\nlabel = \"rocks\"\ndurability = \"async\"\n\
        [[engine]]\nname = \"lmdb\"\n[engine.options]\nreadahead = true\n\
        [drive]\npreset = \"ceiling\"\n\
        [[phase]]\nkind = \"load\"\n";

    fn engines(name: Option<&str>, installed: &[&str]) -> Vec<String> {
        let twins = |tables: &[Table]| twins_of(tables, name, |name| installed.contains(&name));
        let text = with_two("mine.toml", SUITE, CALIBRATE, WHAT, twins).unwrap();
        let suite: Table = text.parse().unwrap();
        assert_eq!(suite["suite"]["name"].as_str(), Some("calibrate-mine"));
        assert_eq!(suite["phase"].as_array().map(Vec::len), Some(1));
        assert!(!suite.contains_key("drive"), "{suite}");
        suite["engine"].as_array().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_engine_stands_beside_itself() {
        let [a, b] = &engines(Some("lmdb"), &[])[..] else { panic!() };
        assert!(a.contains("lmdb-a") && a.contains("readahead = true"), "{a}");
        assert_eq!(a.replace("lmdb-a", "lmdb-b"), *b);
        assert!(engines(Some("rocksdb"), &[])[0].contains("rocks-a"));
        assert!(engines(Some("mine"), &[])[0].contains("mine-a"));
    }

    #[test]
    fn the_first_that_is_found_and_stores_anything() {
        assert!(engines(None, &["null", "lmdb"])[1].contains("lmdb-b"));
        assert!(engines(None, &["null", "lmdb", "rocksdb"])[1].contains("rocks-b"));
        assert!(engines(None, &["null"])[0].contains("null-a"));
    }

    #[test]
    fn a_suite_that_is_no_toml_is_a_mistake() {
        let twins = |engines: &[Table]| twins_of(engines, None, |_| true);
        let error = with_two("mine.toml", "[suite", CALIBRATE, WHAT, twins).unwrap_err();
        assert!(error.message.contains("mine.toml"), "{error}");
    }
}
