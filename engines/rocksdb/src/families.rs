//! The column families of a database: all are opened, since `RocksDB` demands that, and one is
//! measured.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, FamilyApi, TransactionFamilyApi};
use crate::database::{OpenOptions, c_string};
use crate::library::RocksLibrary;
use crate::owned::call_checked;
use kvdyno_engine::{Error, Options, Result, list_names};
use std::ffi::{CStr, CString};
use std::path::Path;

/// The name of the column family that every database has.
pub(crate) const DEFAULT_FAMILY: &str = "default";

/// The library's functions for a column family other than the default one.
#[derive(Clone, Copy)]
pub(crate) struct FamilyCalls {
    pub(crate) plain: &'static FamilyApi,
    /// The functions of transactions. `None`: the library has none, and a database with
    /// transactions was refused.
    transactions: Option<&'static TransactionFamilyApi>,
}

/// The chosen column family, if it is not the default one.
#[derive(Clone, Copy)]
pub(crate) struct NamedFamily {
    pub(crate) calls: FamilyCalls,
    pub(crate) handle: *mut api::Family,
}

impl NamedFamily {
    /// Returns functions and handle for transactions.
    pub(crate) fn transaction_family(
        self,
    ) -> Option<(&'static TransactionFamilyApi, *mut api::Family)> {
        self.calls.transactions.map(|calls| (calls, self.handle))
    }
}

/// The column families to open, and which of them is chosen.
pub(crate) struct Families {
    pub(crate) names: Vec<CString>,
    pub(crate) chosen: usize,
    /// The functions for the chosen column family. `None`: the default one is chosen.
    pub(crate) named: Option<FamilyCalls>,
}

impl Families {
    /// Returns the column families of the database in `dir`, or of the one that is to be created
    /// there. Refuses a chosen name that the database does not have.
    pub(crate) fn from_dir(
        library: &'static RocksLibrary,
        open_options: &OpenOptions,
        dir: &Path,
        options: &Options,
    ) -> Result<Self> {
        let chosen = options.text("column_family")?;
        let calls = named_calls(library, options)?;
        let exists = dir.join("CURRENT").exists();
        let names = match &library.families {
            Some(api) if exists => list(library, api, open_options, dir)?,
            _ if chosen == DEFAULT_FAMILY => vec![CString::from(c"default")],
            _ => vec![CString::from(c"default"), c_string(chosen)?],
        };
        match names.iter().position(|name| name.to_bytes() == chosen.as_bytes()) {
            Some(chosen) => Ok(Self { names, chosen, named: calls }),
            None => {
                let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
                Err(Error::invalid(format!(
                    "expected a column family `{chosen}` in the database, found {}",
                    list_names(&names)
                )))
            }
        }
    }
}

fn named_calls(library: &'static RocksLibrary, options: &Options) -> Result<Option<FamilyCalls>> {
    let chosen = options.text("column_family")?;
    if chosen == DEFAULT_FAMILY {
        return Ok(None);
    }
    let lacks = |what: &str| {
        Error::invalid(format!("this version of RocksDB has no {what}: column_family = {chosen}"))
    };
    let plain = library.families.as_ref().ok_or_else(|| lacks("calls for column families"))?;
    let transactions = library.transaction_families.as_ref();
    if options.text("transactions")? != "off" && transactions.is_none() {
        return Err(lacks("transactions in column families"));
    }
    Ok(Some(FamilyCalls { plain, transactions }))
}

/// Returns the names of all column families of the database in `dir`.
fn list(
    library: &RocksLibrary,
    api: &FamilyApi,
    options: &OpenOptions,
    dir: &Path,
) -> Result<Vec<CString>> {
    let (dir, mut count) = (c_string(&dir.to_string_lossy())?, 0);
    // SAFETY: the options are live, the directory is a C string, `count` an out parameter.
    let names = call_checked(&library.api, |error| unsafe {
        (api.list_column_families)(options.raw(), dir.as_ptr(), &raw mut count, error)
    })?;
    // SAFETY: `count` C strings, copied and then freed once.
    unsafe {
        let copies = (0..count).map(|index| CStr::from_ptr(*names.add(index)).to_owned()).collect();
        (api.list_column_families_destroy)(names, count);
        Ok(copies)
    }
}
