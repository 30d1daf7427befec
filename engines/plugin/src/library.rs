//! The one plugin of this process.

#![expect(unsafe_code, reason = "loading a library runs its code")]

use crate::api::{self, EngineTable, VERSION};
use crate::description::{self, Present};
use kvdyno_engine::library::{self, dynamic::LibrarySpec};
use kvdyno_engine::{Description, Error, Result};
use memchr::memmem;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const SPEC: LibrarySpec = LibrarySpec {
    engine: "plugin",
    title: "a plugin",
    remedy: "expected a library that implements kvdyno_engine.h: `kvdyno new-engine NAME \
             --language c` writes one",
};

/// The start of a plugin's file name: the plugin of engine `NAME` is `libkvdyno-NAME.so`.
const PREFIX: &str = "libkvdyno-";

/// A loaded plugin. Never unloaded: its threads outlive any use.
pub(crate) struct LoadedPlugin {
    pub(crate) functions: Functions,
    pub(crate) description: Description,
    path: PathBuf,
}

/// The functions of a plugin; those that every plugin has are not optional.
pub(crate) struct Functions {
    pub(crate) open: api::Open,
    pub(crate) open_session: api::OpenSession,
    pub(crate) close_session: api::EndSession,
    pub(crate) get: api::Get,
    pub(crate) put: api::Put,
    pub(crate) close: api::OnDatabase,
    pub(crate) remove: Option<api::Remove>,
    pub(crate) scan: Option<api::Scan>,
    pub(crate) walk: Option<api::Scan>,
    pub(crate) multiget: Option<api::MultiGet>,
    pub(crate) write: Option<api::WriteBatch>,
    pub(crate) transactions: Option<TransactionFunctions>,
    pub(crate) get_for_update: api::Get,
    pub(crate) settle: Option<api::Settle>,
    pub(crate) sync: Option<api::OnDatabase>,
    pub(crate) counters: Option<api::GetCounters>,
    pub(crate) events: Option<api::GetEvents>,
}

/// The functions of transactions: a plugin has all of them or none.
#[derive(Clone, Copy)]
pub(crate) struct TransactionFunctions {
    pub(crate) begin: api::OnSession,
    pub(crate) commit: api::OnSession,
    pub(crate) rollback: api::EndSession,
}

static LOADED: OnceLock<Result<LoadedPlugin>> = OnceLock::new();

/// Loads the plugin at `path`, once; later calls may leave out `path`.
pub(crate) fn load(path: Option<&Path>) -> Result<&'static LoadedPlugin> {
    let loaded = LOADED.get_or_init(|| match path {
        Some(path) => open(path),
        None => Err(Error::invalid(
            "expected a plugin to run, found none: name its file, `--library \
             PATH/libkvdyno-NAME.so`",
        )),
    });
    let loaded = loaded.as_ref().map_err(Clone::clone)?;
    library::check_only("plugin", &loaded.path, path).map(|()| loaded)
}

/// Returns the file of the loaded plugin, for messages.
pub(crate) fn loaded_path() -> &'static Path {
    match LOADED.get() {
        Some(Ok(loaded)) => &loaded.path,
        _ => Path::new("the plugin"),
    }
}

fn open(path: &Path) -> Result<LoadedPlugin> {
    let (path, code) = SPEC.open(Some(path))?;
    let refused = |what: &str| SPEC.unusable_error(&path, what);
    // SAFETY: the header gives the function of this name this type.
    let get_engine = unsafe {
        code.get::<unsafe extern "C" fn() -> *const EngineTable>("kvdyno_get_engine").map_err(
            |_| refused("it has no function `kvdyno_get_engine`, the one that a plugin exports"),
        )?
    };
    // SAFETY: it has no arguments. What it returns lives as long as the process, by the header.
    let table = unsafe { get_engine() };
    if table.is_null() {
        return Err(refused("`kvdyno_get_engine` returns null"));
    }
    // SAFETY: of every version, the first field is the version.
    let version = unsafe { table.cast::<u32>().read() };
    if version != VERSION {
        return Err(refused(&format!(
            "it implements version {version} of kvdyno_engine.h, this kvdyno has version \
             {VERSION}: compile it against this kvdyno's header"
        )));
    }
    // SAFETY: the table has this version's fields.
    let table = unsafe { &*table };
    let (functions, present) = functions(table).map_err(|what| refused(&what))?;
    let (description, words) = describe(table, present).map_err(|what| refused(&what))?;
    check_name(&path, &description.name).map_err(|what| refused(&what))?;
    // The functions stay where they are.
    std::mem::forget(code);
    let assertions = words.map_or_else(String::new, |words| {
        let files = library::read_mapped(&path, &format!("lib{}", description.name));
        find_assertions(&files, &words, &description.title)
    });
    let Description { mut build, .. } = description;
    build.extend(library::build_facts(&path, "plugin", [("assertions", assertions)]));
    Ok(LoadedPlugin { functions, description: Description { build, ..description }, path })
}

fn functions(table: &EngineTable) -> Result<(Functions, Present), String> {
    fn require_function<F>(function: Option<F>, name: &str) -> Result<F, String> {
        function.ok_or_else(|| format!("its function `{name}` is null: every plugin has it"))
    }
    let transactions = match (table.begin, table.commit, table.rollback) {
        (Some(begin), Some(commit), Some(rollback)) => {
            Some(TransactionFunctions { begin, commit, rollback })
        }
        (None, None, None) => None,
        _ => return Err("expected all of `begin`, `commit`, `rollback`, or none".to_owned()),
    };
    let get = require_function(table.get, "get")?;
    let functions = Functions {
        open: require_function(table.open, "open")?,
        open_session: require_function(table.open_session, "open_session")?,
        close_session: require_function(table.close_session, "close_session")?,
        get,
        put: require_function(table.put, "put")?,
        close: require_function(table.close, "close")?,
        remove: table.remove,
        scan: table.scan,
        walk: table.walk,
        multiget: table.multiget,
        write: table.write,
        transactions,
        get_for_update: table.get_for_update.unwrap_or(get),
        settle: table.settle,
        sync: table.sync,
        counters: table.counters,
        events: table.events,
    };
    let present = Present {
        remove: functions.remove.is_some(),
        scan: functions.scan.is_some(),
        multiget: functions.multiget.is_some(),
        write: functions.write.is_some(),
        transactions: functions.transactions.is_some(),
        sync: functions.sync.is_some(),
    };
    Ok((functions, present))
}

fn describe(
    table: &EngineTable,
    present: Present,
) -> Result<(Description, Option<String>), String> {
    let describe = table.describe.ok_or("its function `describe` is null: every plugin has it")?;
    // SAFETY: it has no arguments.
    let json = unsafe { describe() };
    if json.is_null() {
        return Err("`describe` returns null: expected JSON".to_owned());
    }
    // SAFETY: by the header, a C string that lives as long as the process.
    description::read(&unsafe { api::text(json) }, present)
}

/// Checks that a file with the name of an engine's plugin has that engine: kvdyno finds it by its
/// name.
fn check_name(path: &Path, described: &str) -> Result<(), String> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let name = file.strip_prefix(PREFIX).and_then(|file| file.strip_suffix(".so"));
    match name.filter(|name| *name != described) {
        None => Ok(()),
        Some(name) => Err(format!(
            "its file is of engine `{name}`, but it describes engine `{described}`: one of the \
             names is wrong"
        )),
    }
}

/// Tells whether the plugin is a build with assertions, which is slower and must be reported. Such
/// a build contains `words`; a description has them in quotes.
fn find_assertions(files: &[Vec<u8>], words: &str, title: &str) -> String {
    let finder = memmem::Finder::new(words);
    let has = |file: &Vec<u8>| finder.find_iter(file).any(|at| !file[..at].ends_with(b"\""));
    if files.iter().any(has) { format!("on: figures are not {title}'s") } else { "off".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{check_name, find_assertions};
    use std::path::Path;

    #[test]
    fn a_file_is_called_as_its_engine_or_as_no_engine() {
        assert!(check_name(Path::new("/x/libkvdyno-mine.so"), "mine").is_ok());
        assert!(check_name(Path::new("/x/build-of-today.so"), "mine").is_ok());
        let refused = check_name(Path::new("/x/libkvdyno-mine.so"), "yours").unwrap_err();
        assert!(refused.contains("`mine`") && refused.contains("`yours`"), "{refused}");
    }

    #[test]
    fn assertions_are_seen_in_the_files_and_not_in_the_description() {
        let words = "void mine::Store::";
        let plugin = br#"{"assertions": "void mine::Store::"}"#.to_vec();
        let library = b"stats\0void mine::Store::Compact(State*)\0".to_vec();
        let files = [plugin, library];
        assert_eq!(find_assertions(&files[..1], words, "Mine"), "off");
        assert_eq!(find_assertions(&files, words, "Mine"), "on: figures are not Mine's");
    }
}
