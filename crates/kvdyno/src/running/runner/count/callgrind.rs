//! Callgrind's files: the instructions of each function, without those of functions that it calls.

use kvdyno_record::functions::FunctionCount;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The name of functions without a name.
const UNNAMED: &str = "(no name)";

/// Names by the number that a file gives them where they first occur.
#[derive(Default)]
struct Names<'t>(HashMap<&'t str, &'t str>);

impl<'t> Names<'t> {
    /// Returns the name in `(7) name`, or the earlier name of the number in `(7)`.
    fn read(&mut self, text: &'t str) -> Option<&'t str> {
        let Some(rest) = text.strip_prefix('(') else { return Some(text) };
        let (number, name) = rest.split_once(')')?;
        match name.trim_start() {
            "" => self.0.get(number).copied(),
            name => Some(self.0.entry(number).insert_entry(name).into_mut()),
        }
    }
}

/// Returns the functions of a file, most instructions first; `None`: the file is not in callgrind's
/// format.
pub(super) fn functions(text: &str) -> Option<Vec<FunctionCount>> {
    let (mut objects, mut functions) = (Names::default(), Names::default());
    let (mut object, mut function) = ("", "");
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((key, value)) = line.split_once('=') else {
            if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                // The line's position, then its instructions, if any.
                let count = line.split(' ').nth(1).map_or(Some(0), |count| count.parse().ok())?;
                *counts.entry(normalize_names(function, object)).or_default() += count;
            }
            continue;
        };
        match key {
            "ob" => object = objects.read(value)?,
            "fn" => function = functions.read(value)?,
            // Both may contain a name that later lines give by its number alone.
            "cob" => drop(objects.read(value)?),
            "cfn" => drop(functions.read(value)?),
            // The next line has the costs of a called function, which has lines of its own.
            "calls" => drop(lines.next()?),
            _ => {}
        }
    }
    let count =
        |((function, object), instructions)| FunctionCount { function, object, instructions };
    let mut functions: Vec<FunctionCount> = counts.into_iter().map(count).collect();
    functions.retain(|function| function.instructions > 0);
    functions.sort_by_key(|function| std::cmp::Reverse(function.instructions));
    Some(functions)
}

/// Returns a function's name and object. A recursive call (`name'2`) counts as the function itself.
fn normalize_names(function: &str, object: &str) -> (String, String) {
    let name = match function.rsplit_once('\'') {
        Some((name, depth)) if depth.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => function,
    };
    let is_address = name.strip_prefix("0x").is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    let object = Path::new(object).file_name().unwrap_or_default().to_string_lossy();
    (if is_address { UNNAMED } else { name }.to_owned(), object.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As callgrind writes it: names once and then their numbers, calls with inclusive costs, an
    /// inlined file, a recursion, and two functions of a stripped library.
    const FILE: &str = "\
        version: 1\ncreator: callgrind-3.19.0\nevents: Ir\nsummary: 190\n\n\
        ob=(1) /opt/kvdyno-rocksdb\nfl=(1) hot.rs\nfn=(1) closed_loop\n10 5\n+2 7\n\
        cob=(2) /x/a.so\ncfn=(2) rocksdb::Get\ncalls=3 20\n-1 160\n* 8\n\n\
        ob=(2)\nfl=(2) db.cc\nfn=(2)\n20 40\nfi=(3) slice.h\n+1 10\nfe=(2)\n\
        cfn=(3) rocksdb::Seek'2\ncalls=1 30\n+4 90\n\n\
        fn=(3)\n30 60\n\nfn=(4) rocksdb::Seek\n31 30\n33\n\n\
        fn=(5) 0x00000000000a1b20\n0 9\n\nfn=(6) 0x00000000000a1b40\n0 21\n\n\
        totals: 190\n";

    #[test]
    fn a_functions_own_instructions_are_read() {
        let functions = functions(FILE).unwrap();
        let counts: Vec<(&str, &str, u64)> = functions
            .iter()
            .map(|count| (count.function.as_str(), count.object.as_str(), count.instructions))
            .collect();
        let expected = [
            ("rocksdb::Seek", "a.so", 90),
            ("rocksdb::Get", "a.so", 50),
            (UNNAMED, "a.so", 30),
            ("closed_loop", "kvdyno-rocksdb", 20),
        ];
        assert_eq!(counts, expected);
        assert_eq!(functions.iter().map(|count| count.instructions).sum::<u64>(), 190);
    }

    #[test]
    fn what_callgrind_does_not_write_is_no_count() {
        assert_eq!(functions("fn=(1)\n"), None, "a number without a name");
        assert_eq!(functions("fn=f\n1 many\n"), None);
    }
}
