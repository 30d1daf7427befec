//! The repository's own rules, as docs and STYLE state them: they hold because this reads all
//! sources and fails. What is an exception stands here with its reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod layers;
mod scripts;
mod words;

use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const COLUMNS_MAX: usize = 100;

/// Files that may be wider, and why.
const WIDE_FILES: [(&str, &str); 1] =
    [("engines/rocksdb/src/describe.rs", "a table of options, one a line, not formatted")];

/// Files that print beside the program's printer, and why.
const PRINTING: [(&str, &str); 2] = [
    ("crates/worker/src/output.rs", "a worker talks to the program on its standard output"),
    ("crates/worker/src/lib.rs", "a worker's words to a person who starts it by hand"),
];

fn repository() -> PathBuf {
    Path::new(env!("KVDYNO_SOURCE")).canonicalize().unwrap()
}

/// A source file: its path from the repository's root, and its text.
struct Source {
    path: String,
    text: String,
}

/// All files with one of these endings, generated and downloaded ones left out.
fn files(endings: &[&str]) -> Vec<Source> {
    let mut sources = Vec::new();
    let root = repository();
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let others = ["target", "runs", "node_modules"];
                let ours = !name.starts_with('.') && !others.contains(&name.as_str());
                dirs.extend(ours.then_some(path));
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn rust() -> Vec<Source> {
    let sources = files(&[".rs"]);
    assert!(sources.len() > 100, "only {} files were found", sources.len());
    sources
}

/// Fails with all findings at once.
#[track_caller]
fn assert_none(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n  {}", violations.join("\n  "));
}

#[test]
fn functions_fit_a_screen() {
    let mut long = Vec::new();
    for Source { path, text } in rust() {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let length = function_length(&lines[at..]).unwrap_or(0);
            if length > FUNCTION_LINES_MAX {
                long.push(format!("{path}:{}: {length} lines: {}", at + 1, lines[at].trim()));
            }
        }
    }
    assert_none("functions of more than 70 lines", &long);
}

/// Lines of the function that begins in the first line; `None` where none begins. The sources are
/// formatted: a function ends at the first closing brace that stands as far right as its `fn`.
fn function_length(lines: &[&str]) -> Option<usize> {
    let code = lines[0].trim_start();
    let before = code.split_once("fn ")?.0;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "extern", "\"C\""];
    if !before.split_whitespace().all(|word| qualifiers.contains(&word)) {
        return None;
    }
    let indent = &lines[0][..lines[0].len() - code.len()];
    let end = format!("{indent}}}");
    for (number, line) in lines.iter().enumerate() {
        let outside = line.len() > indent.len() && !line[indent.len()..].starts_with(' ');
        let declared = line.ends_with(';') && outside;
        if *line == end || declared || (number == 0 && line.ends_with('}')) {
            return Some(number + 1);
        }
    }
    None
}

#[test]
fn files_have_one_noun() {
    let mut violations = Vec::new();
    for Source { path, text } in rust() {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            violations.push(format!("{path}: {lines} lines"));
        }
    }
    assert_none("files of more than 500 lines", &violations);
}

/// The page's program: a noun a file, and a comment that says what it is for.
#[test]
fn scripts_are_short_and_say_what_they_are_for() {
    let mut violations = Vec::new();
    for Source { path, text } in files(&[".ts"]) {
        if text.lines().count() > 400 {
            violations.push(format!("{path}: {} lines", text.lines().count()));
        }
        if !text.starts_with("// ") {
            violations.push(format!("{path}: begins without a comment"));
        }
    }
    assert_none("scripts of more than 400 lines, or without a word", &violations);
}

#[test]
fn lines_are_at_most_a_hundred_columns() {
    let mut violations = Vec::new();
    for Source { path, text } in rust() {
        if WIDE_FILES.iter().any(|(wide, _)| *wide == path) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > COLUMNS_MAX {
                violations.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none("lines of more than 100 columns", &violations);
}

#[test]
fn every_module_says_what_it_is_for() {
    let violations: Vec<String> = rust()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path)
        .collect();
    assert_none("modules that do not begin with `//! `", &violations);
}

#[test]
fn nothing_is_left_to_be_done() {
    let macros = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let words = [["FIX", "ME"].concat(), ["TO", "DO"].concat(), ["XX", "X"].concat()];
    let mut violations = Vec::new();
    for Source { path, text } in rust() {
        for (number, line) in text.lines().enumerate() {
            let word =
                |word: &String| line.split(|c: char| !c.is_alphanumeric()).any(|w| w == word);
            if macros.iter().any(|call| line.contains(call)) || words.iter().any(word) {
                violations.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none("left to be done", &violations);
}

#[test]
fn only_the_printer_prints() {
    let calls = ["print", "eprint"].map(|name| [format!("{name}!("), format!("{name}ln!(")]);
    let calls: Vec<String> = calls.into_iter().flatten().collect();
    let may_print = |path: &str| {
        let dir = |name: &str| path.contains(&format!("/{name}/"));
        let exception = PRINTING.iter().any(|(printing, _)| *printing == path);
        let tests = path.ends_with("/tests.rs") || path.ends_with("/testing.rs");
        exception || tests || ["benches", "tests", "examples"].iter().any(|name| dir(name))
    };
    let mut violations = Vec::new();
    for Source { path, text } in rust() {
        if path == "crates/kvdyno/src/printer.rs" || may_print(&path) {
            continue;
        }
        // Unit tests stand at the end of their file.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if calls.iter().any(|call| line.contains(call)) {
                violations.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none("prints past the printer", &violations);
}

#[test]
fn no_file_is_dead() {
    let all: BTreeSet<String> = rust().into_iter().map(|source| source.path).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut next: Vec<String> = all.iter().filter(|path| is_root(path)).cloned().collect();
    while let Some(path) = next.pop() {
        let text = fs::read_to_string(repository().join(&path)).unwrap();
        for name in declared_modules(&text) {
            let dir = module_dir(&path);
            let candidates = [format!("{dir}/{name}.rs"), format!("{dir}/{name}/mod.rs")];
            next.extend(candidates.into_iter().filter(|file| all.contains(file)));
        }
        reached.insert(path);
    }
    let dead: Vec<String> = all.difference(&reached).cloned().collect();
    assert_none("files that no module declares", &dead);
}

/// Cargo compiles it by itself.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let [_, _, parts @ ..] = parts.as_slice() else { return false };
    matches!(
        parts,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

fn declared_modules(text: &str) -> Vec<String> {
    // An example may borrow its package's own modules, and the second LMDB worker is the files of
    // the first against another C library; nothing else comes from elsewhere.
    let borrowed = |line: &str| ["\"../src/", "\"../../lmdb/src/"].iter().any(|f| line.contains(f));
    let elsewhere = |line: &&str| line.starts_with(&["#[pa", "th ="].concat()) && !borrowed(line);
    assert_eq!(text.lines().find(elsewhere), None, "a module from somewhere else");
    let name = |line: &str| {
        let line = line.trim().strip_suffix(';')?;
        let (before, name) = line.rsplit_once("mod ")?;
        let visibility = ["", "pub ", "pub(crate) ", "pub(super) "];
        visibility.contains(&before).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// Where the files of a file's modules lie.
fn module_dir(path: &str) -> String {
    let (dir, file) = path.rsplit_once('/').unwrap();
    let stem = file.trim_end_matches(".rs");
    let own = is_root(path) || stem == "mod";
    if own { dir.to_owned() } else { format!("{dir}/{stem}") }
}

#[test]
fn every_dependency_has_its_line_and_every_line_its_dependency() {
    let text = fs::read_to_string(repository().join("docs/dependencies.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let names = rows.filter_map(|row| row.split(" |").next()).flat_map(|cell| cell.split(", "));
    let documented: BTreeSet<String> =
        names.filter(|name| !["crate", "package"].contains(name)).map(plain).collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for Source { path, text } in files(&["Cargo.toml"]) {
        let manifest: toml::Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        for name in dependencies(&manifest) {
            used.insert(name);
        }
    }
    for Source { path, text } in files(&["package.json"]) {
        let manifest: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let kinds = ["dependencies", "devDependencies"];
        for names in kinds.iter().filter_map(|kind| manifest[kind].as_object()) {
            used.extend(names.keys().cloned());
        }
    }
    assert!(used.len() > 10, "{used:?}");
    let undocumented: Vec<String> = used.difference(&documented).cloned().collect();
    assert_none("dependencies that docs/dependencies.md does not explain", &undocumented);
    let unused: Vec<String> = documented.difference(&used).cloned().collect();
    assert_none("explained in docs/dependencies.md and not used", &unused);
}

fn plain(name: &str) -> String {
    name.trim().trim_matches('`').to_owned()
}

/// Names below `dependencies` of any kind, those of the workspace included; not our own crates.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            names.extend(table.keys().filter(|name| !name.starts_with("kvdyno")).cloned());
        } else if key == "workspace" || key == "target" || key.starts_with("cfg(") {
            names.extend(dependencies(table));
        }
    }
    names
}

/// The page is kept as it was built, with a digest of what it was built from: the same that
/// `sources` in report/vite.config.ts writes into it.
#[test]
fn the_page_is_as_new_as_its_sources() {
    let root = repository().join("report");
    let mut paths: Vec<PathBuf> = below(&root.join("src"));
    paths.retain(|path| !path.to_string_lossy().ends_with(".test.ts"));
    let others = ["index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"];
    paths.extend(others.map(|name| root.join(name)));
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    paths.sort_by_key(name);
    let mut digest = Sha256::new();
    for path in &paths {
        let bytes = fs::read(path).unwrap();
        digest.update(format!("{}\n{}\n", name(path), bytes.len()));
        digest.update(bytes);
    }
    let wanted = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let page = fs::read_to_string(root.join("dist/index.html")).unwrap();
    let (_, rest) = page.split_once("name=\"kvdyno-sources\" content=\"").unwrap();
    let page_digest = rest.split('"').next().unwrap_or_default();
    assert_eq!(
        page_digest, wanted,
        "report/dist/index.html was built from other sources than those in report/: run \
         `make page` and commit what it writes"
    );
}

/// All files of a directory and of those in it.
fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Packages are had by their ordinary clients, as whoever set up the machine has configured them.
#[test]
fn no_registry_is_named() {
    let registries = [
        ("npmjs", "org"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("maven", "org"),
        ("maven.apache", "org"),
        ("golang", "org"),
        ("debian", "org"),
        ("ubuntu", "com"),
    ];
    let hosts = registries.map(|(name, end)| format!("{name}.{end}"));
    let mut violations = Vec::new();
    for path in tracked() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // What a package manager writes itself, and files that are no text.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if ["Cargo.lock", "package-lock.json", "go.mod", "go.sum"].contains(&name.as_str()) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for host in hosts.iter().filter(|host| line.contains(host.as_str())) {
                let path = path.strip_prefix(repository()).unwrap().display();
                violations.push(format!("{path}:{}: {host}", number + 1));
            }
        }
    }
    assert_none("hosts of package registries", &violations);
}

/// All files but those that a build makes and git's own; the hidden ones, too.
fn tracked() -> Vec<PathBuf> {
    let others = [".git", "target", "runs", "node_modules"];
    let mut violations = Vec::new();
    let mut dirs = vec![repository()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let other = others.contains(&&*path.file_name().unwrap().to_string_lossy());
            match (other, path.is_dir()) {
                (true, _) => {}
                (false, true) => dirs.push(path),
                (false, false) => violations.push(path),
            }
        }
    }
    assert!(violations.len() > 100, "only {} files were found", violations.len());
    violations
}

#[test]
fn decisions_are_numbered_without_gaps() {
    let dir = repository().join("docs/decisions");
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let wrong: Vec<String> = names
        .iter()
        .enumerate()
        .filter(|(at, name)| !name.starts_with(&format!("{:04}-", at + 1)))
        .map(|(at, name)| format!("{name} is where {:04} should be", at + 1))
        .collect();
    assert_none("decisions", &wrong);
}

#[test]
fn links_in_the_docs_lead_somewhere() {
    let mut broken = Vec::new();
    for Source { path, text } in files(&[".md"]) {
        let dir = repository().join(&path).parent().unwrap().to_owned();
        for target in links(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { repository().join(&path) } else { dir.join(file) };
            let exists = to.exists();
            if !exists || !(anchor.is_empty() || has_heading(&to, anchor)) {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    assert_none("broken links", &broken);
}

/// Sources and documents name pages of the documentation by their path from the root.
#[test]
fn pages_that_are_named_are_there() {
    let mut missing = Vec::new();
    for Source { path, text } in files(&[".rs", ".md", ".toml"]) {
        for rest in text.split("docs/").skip(1) {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
            let name: &str = rest.split(|c| !allowed(c)).next().unwrap_or_default();
            let page = name.trim_end_matches('.');
            let is_page = Path::new(page).extension().is_some_and(|kind| kind == "md");
            let exists = repository().join("docs").join(page).exists();
            missing.extend((is_page && !exists).then(|| format!("{path}: docs/{page}")));
        }
    }
    assert_none("pages that are named and not there", &missing);
}

#[test]
fn tests_that_security_names_are_there() {
    let text = fs::read_to_string(repository().join("SECURITY.md")).unwrap();
    let column = |line: &str| Some(line.strip_suffix(" |")?.rsplit_once(" | ")?.1.to_owned());
    let columns: Vec<String> = text.lines().filter_map(column).collect();
    let names = columns.iter().flat_map(|tests| tests.split('`').skip(1).step_by(2));
    let exists = |name: &&str| {
        let program = format!("crates/kvdyno/tests/program/{name}.rs");
        let source = format!("crates/record/src/{name}.rs");
        let crate_dir = format!("crates/{}", name.trim_start_matches("kvdyno-"));
        [program, source, crate_dir].iter().any(|path| repository().join(path).exists())
    };
    let missing: Vec<String> = names.filter(|name| !exists(name)).map(str::to_owned).collect();
    assert_none("tests that SECURITY.md names and that are not there", &missing);
}

/// Engines that are compared are compiled alike.
#[test]
fn engines_are_compiled_in_one_piece() {
    let text = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let dirs = fs::read_dir(repository().join("engines")).unwrap();
    let names = dirs.map(|dir| dir.unwrap().file_name().into_string().unwrap());
    let line = |name: &str| format!("\nkvdyno-{name} = {{ codegen-units = 1 }}");
    let missing: Vec<String> = names.filter(|name| !text.contains(&line(name))).collect();
    assert_none("engines that [profile.release.package] of Cargo.toml lacks", &missing);
}

/// What `](...)` leads to inside the repository.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// A heading whose anchor, as forges make it, is this one.
fn has_heading(path: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let anchor_of = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.into_iter().any(|line| anchor_of(line.trim_start_matches('#').trim()) == anchor)
}
