//! Loads an engine's library and finds its functions (feature `dynamic`).

#![expect(unsafe_code, reason = "loading a library runs its code")]

use super::choose_file;
use crate::{Error, Result};
pub use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// The library to load.
#[derive(Clone, Copy, Debug)]
pub struct LibrarySpec {
    /// The engine's name.
    pub engine: &'static str,
    /// The library's title.
    pub title: &'static str,
    /// What to do if there is no usable library.
    pub remedy: &'static str,
}

impl LibrarySpec {
    /// Loads the library at `path`, or the newest installed.
    pub fn open(&self, path: Option<&Path>) -> Result<(PathBuf, Library)> {
        let path = choose_file(self.engine, self.title, path, self.remedy)?;
        // SAFETY: its initialisers run; it is the engine's, or a file that the user named as such.
        // All its symbols are bound now: none while an operation is timed.
        match unsafe { UnixLibrary::open(Some(&path), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok((path, library.into())),
            Err(error) => {
                // The loader's own words are the error's source.
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Err(self.unusable_error(&path, &why))
            }
        }
    }

    /// The error that the library at `path` cannot be used.
    pub fn unusable_error(&self, path: &Path, what: &str) -> Error {
        Error::invalid(format!("library {}: {what}; {}", path.display(), self.remedy))
    }
}

/// Copies a C string; empty for null.
///
/// # Safety
/// `text` is null or a C string.
pub unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// C types whose fields only the library knows.
#[macro_export]
macro_rules! opaque_types {
    ($($name:ident)*) => { $(#[repr(C)] pub(crate) struct $name { _inside: [u8; 0] })* };
}

/// A struct with the functions of a library, by their names without a prefix. `Struct::load` finds
/// them, or returns the name of a required one that is missing.
#[macro_export]
macro_rules! library_functions {
    (
        $(#[$about:meta])* struct $struct:ident: $prefix:literal
        required { $(fn $name:ident($($type:ty),*) $(-> $returned:ty)?;)* }
        optional { $(fn $maybe:ident($($maybe_type:ty),*) $(-> $maybe_returned:ty)?;)* }
    ) => {
        $(#[$about])*
        pub(crate) struct $struct {
            $(pub(crate) $name: unsafe extern "C" fn($($type),*) $(-> $returned)?,)*
            $(
                pub(crate) $maybe:
                    Option<unsafe extern "C" fn($($maybe_type),*) $(-> $maybe_returned)?>,
            )*
        }

        impl $struct {
            pub(crate) fn load(
                library: &$crate::library::dynamic::Library,
            ) -> ::std::result::Result<Self, &'static str> {
                // SAFETY: the fields have the types that the library's header gives these names.
                unsafe {
                    Ok(Self {
                        $($name: {
                            let name = concat!($prefix, stringify!($name));
                            *library.get(name).map_err(|_| name)?
                        },)*
                        $($maybe: {
                            let name = concat!($prefix, stringify!($maybe));
                            library.get(name).ok().map(|function| *function)
                        },)*
                    })
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_own_words_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("libmine.so");
        std::fs::write(&path, "no library").unwrap();
        let spec = LibrarySpec { engine: "mine", title: "Mine", remedy: "build it" };
        let refused = spec.open(Some(&path)).unwrap_err().to_string();
        assert!(refused.contains("file too short") && refused.contains("build it"), "{refused}");
    }
}
