//! Facts of a `RocksDB` library: its version, and the properties that decide its speed. The C API
//! has no functions for them, so they are read from the file and from functions outside the API.

#![expect(unsafe_code, reason = "calls of functions that are not in the C API")]

use crate::api::Api;
use kvdyno_engine::library;
use kvdyno_engine::library::dynamic::Library;
use memchr::memmem;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

/// Facts of a library.
pub(crate) struct Facts {
    pub(crate) version: String,
    pub(crate) build: BTreeMap<String, String>,
    /// Supported compressions, by the values of option `compression`; empty: unknown.
    pub(crate) compressions: Vec<&'static str>,
}

/// Returns the facts of the loaded library at `path`.
pub(crate) fn read_facts(library: &Library, path: &Path, api: &Api) -> Facts {
    // If the file cannot be read, these facts are missing, and that is reported.
    let image = std::fs::read(path).unwrap_or_default();
    let compressions = compressions(library);
    let compression_names =
        if compressions.is_empty() { "unknown".to_owned() } else { compressions.join(" ") };
    let more = [
        ("git_sha", property(&image, "rocksdb_build_git_sha:")),
        ("built_on", property(&image, "rocksdb_build_date:")),
        ("assertions", assertions(&image).to_owned()),
        ("crc32", crc32(library).unwrap_or_else(|| "unknown".to_owned())),
        ("compression", compression_names),
        ("allocator", allocator(library).to_owned()),
        ("events", events(api).to_owned()),
    ];
    let build = library::build_facts(path, "library", more);
    let version = version(library, path).unwrap_or_else(|| "unknown".to_owned());
    Facts { version, build, compressions }
}

/// Returns the version, from the first source that has it: the Java function of official libraries,
/// the C++ function, the tag that the library was built from, the file name.
pub(crate) fn version(library: &Library, path: &Path) -> Option<String> {
    let image = || std::fs::read(path).unwrap_or_default();
    version_for_java(library)
        .or_else(|| version_for_cpp(library))
        .or_else(|| numbers(&property(&image(), "rocksdb_build_git_tag:")))
        .or_else(|| numbers(&path.file_name()?.to_string_lossy()))
}

fn version_for_java(library: &Library) -> Option<String> {
    type Version = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
    // SAFETY: the function's type in RocksJava; it uses neither argument.
    let encoded = unsafe {
        let version = library.get::<Version>("Java_org_rocksdb_RocksDB_version").ok()?;
        version(std::ptr::null_mut(), std::ptr::null_mut())
    };
    let [_, major, minor, patch] = encoded.to_be_bytes();
    Some(format!("{major}.{minor}.{patch}"))
}

fn version_for_cpp(library: &Library) -> Option<String> {
    type Version = unsafe extern "C" fn(bool) -> CppString;
    // SAFETY: `std::string rocksdb::GetRocksVersionAsString(bool)`: a value of this size is
    // returned in memory of the caller's by C and by C++ alike. The few bytes are never freed.
    unsafe {
        let name = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
        let version = library.get::<Version>(name).ok()?;
        Some(version(true).text())
    }
}

/// A `std::string` of libstdc++ since 2015.
#[repr(C)]
struct CppString {
    bytes: *const c_char,
    length: usize,
    inside: [u8; 16],
}

impl CppString {
    fn text(&self) -> String {
        // A string inside the struct has a zero byte behind it.
        let short = self.length < self.inside.len();
        let bytes = match self.inside.get(..self.length).filter(|_| short) {
            // Here `bytes` may point to where the struct was before it was moved.
            Some(inside) => inside,
            // SAFETY: a longer one is on the heap, and never freed.
            None => unsafe { std::slice::from_raw_parts(self.bytes.cast(), self.length) },
        };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Returns what the library reports on whether checksums use the processor's instructions.
fn crc32(library: &Library) -> Option<String> {
    // SAFETY: `std::string rocksdb::crc32c::IsFastCrc32Supported()`; where the name has no `cxx11`
    // and the library is one of libstdc++, its strings are as before 2015: a pointer to bytes that
    // end with a zero. Those of other libraries of C++ (libc++) are not looked at.
    unsafe {
        let new =
            call_by_name::<CppString>(library, "_ZN7rocksdb6crc32c20IsFastCrc32SupportedB5cxx11Ev");
        let old = if is_of_old_libstdcxx(library) {
            call_by_name::<*const c_char>(library, "_ZN7rocksdb6crc32c20IsFastCrc32SupportedEv")
        } else {
            None
        };
        match (new, old) {
            (Some(text), _) => Some(text.text()),
            (None, Some(text)) if !text.is_null() => {
                Some(CStr::from_ptr(*text).to_string_lossy().into_owned())
            }
            _ => None,
        }
    }
}

/// Tells whether the library was built against libstdc++ with strings of before 2015: only these
/// are `Ss` in a name, as in `DB::Open(const Options&, const std::string&, DB**)`.
fn is_of_old_libstdcxx(library: &Library) -> bool {
    const OPEN: &str = "_ZN7rocksdb2DB4OpenERKNS_7OptionsERKSsPPS0_";
    // SAFETY: only looked up, never called.
    unsafe { library.get::<*const c_void>(OPEN).is_ok() }
}

/// `CompressionType` in `compression_type.h`.
const COMPRESSIONS: [(u8, &str); 5] =
    [(1, "snappy"), (2, "zlib"), (3, "bzip2"), (4, "lz4"), (7, "zstd")];

fn compressions(library: &Library) -> Vec<&'static str> {
    /// A `std::vector` of bytes.
    #[repr(C)]
    struct CppVector {
        begin: *const u8,
        end: *const u8,
        room: *const u8,
    }
    // SAFETY: `std::vector<CompressionType> rocksdb::GetSupportedCompressions()`, a reference to
    // one in the 10 line and later; its elements are bytes.
    let codes = unsafe {
        match call_by_name::<CppVector>(library, "_ZN7rocksdb24GetSupportedCompressionsEv") {
            Some(codes) if !codes.begin.is_null() && codes.begin < codes.end => {
                let length = codes.end.offset_from_unsigned(codes.begin);
                std::slice::from_raw_parts(codes.begin, length)
            }
            _ => return Vec::new(),
        }
    };
    let names = COMPRESSIONS.iter().filter(|(code, _)| codes.contains(code));
    names.map(|(_, name)| *name).collect()
}

/// Returns the result of a C++ function without arguments, which is never freed. A value is written
/// where the first argument points, which is also returned; for a reference, its address is
/// returned. In the calling convention of x86-64 both are the same call.
///
/// # Safety
/// The function `name` returns a `T` by value or by reference, whose destructor is not
/// needed.
#[cfg(target_arch = "x86_64")]
unsafe fn call_by_name<T>(library: &Library, name: &str) -> Option<&'static T> {
    type Function<T> = unsafe extern "C" fn(*mut T) -> *const T;
    // SAFETY: the caller's promise.
    unsafe {
        let function = library.get::<Function<T>>(name).ok()?;
        let room = Box::leak(Box::new(std::mem::MaybeUninit::<T>::uninit()));
        function(room.as_mut_ptr()).as_ref()
    }
}

/// Returns `None`: on other processors the address is passed in a register that Rust cannot name.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn call_by_name<T>(_library: &Library, _name: &str) -> Option<&'static T> {
    None
}

/// Tells whether the library has assertions: it is then several times slower, which must be
/// reported. `assert` stores the names of functions that use it; otherwise this name appears
/// nowhere.
fn assertions(image: &[u8]) -> &'static str {
    if image.is_empty() {
        "unknown: cannot read its file"
    } else if memmem::find(image, b"rocksdb::Status rocksdb::DBImpl::").is_some() {
        "on: figures are not RocksDB's"
    } else {
        "off"
    }
}

fn allocator(library: &Library) -> &'static str {
    // SAFETY: only looked up, never called.
    let jemalloc = unsafe { library.get::<*const c_void>("mallctl").is_ok() };
    if jemalloc { "jemalloc" } else { "the system's malloc" }
}

fn events(api: &Api) -> &'static str {
    if api.eventlistener_create.is_some() {
        "RocksDB's listener"
    } else {
        "RocksDB's LOG: this version's C API has no listener; the end of a write stall is not \
         reported"
    }
}

/// Returns the value after `name` in the file: `rocksdb_build_date:2026-10-09 07:58:10`.
fn property(image: &[u8], name: &str) -> String {
    let Some(position) = memmem::find(image, name.as_bytes()) else { return String::new() };
    let rest = &image[position + name.len()..];
    let text = rest.iter().take_while(|byte| byte.is_ascii_graphic() || **byte == b' ');
    String::from_utf8(text.copied().collect()).unwrap_or_default()
}

/// Returns the first `1.2.3` in a text.
fn numbers(text: &str) -> Option<String> {
    let candidates = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut versions = candidates.map(|word| word.trim_matches('.'));
    let number = versions.find(|word| word.split('.').filter(|n| !n.is_empty()).count() == 3)?;
    Some(number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers_in_a_tag_or_a_name() {
        let version = |text| numbers(text);
        assert_eq!(version("v9.10.0").as_deref(), Some("9.10.0"));
        assert_eq!(version("eb/hotfix/java-v11.8.1").as_deref(), Some("11.8.1"));
        assert_eq!(version("librocksdb.so.8.9.1").as_deref(), Some("8.9.1"));
        assert_eq!(version("librocksdb.so.11"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn facts_stand_in_the_file() {
        let image = b"\0..rocksdb_build_date:2026-10-09 07:58:10\0rocksdb_build_git_tag:\0";
        assert_eq!(property(image, "rocksdb_build_date:"), "2026-10-09 07:58:10");
        assert_eq!(property(image, "rocksdb_build_git_tag:"), "");
        assert_eq!(assertions(image), "off");
        let asserting = b"\0rocksdb::Status rocksdb::DBImpl::Put(const rocksdb::Slice&)\0";
        assert!(assertions(asserting).starts_with("on"));
        assert!(assertions(b"").starts_with("unknown"));
    }
}
