//! Builds of `RocksDB` that do more before each read: a library of ours in front of the official
//! one.

use super::scratch::Scratch;
use super::workers::{needs, report_skip};
use std::fs;

/// Copies `RocksDB`'s library to `base.so`. False: there is none, and the test is skipped.
pub(crate) fn find_rocksdb(scratch: &Scratch, test: &str) -> bool {
    if !needs("rocksdb", test) {
        return false;
    }
    let listed = scratch.run(&["engines", "list", "--json"]).json();
    let mut libraries = listed["libraries"].as_array().unwrap().iter();
    let library = libraries.find(|row| row["engine"] == "rocksdb" && row["build"] == "official");
    let Some(library) = library else {
        report_skip("rocksdb", test, "no library of RocksDB is installed");
        return false;
    };
    fs::copy(library["path"].as_str().unwrap(), scratch.path("base.so")).unwrap();
    true
}

/// The source of a library that does so many rounds of a loop before each read.
pub(crate) fn source(rounds: u32) -> String {
    format!(
        "#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static volatile unsigned long sink;
__attribute__((noinline)) void planted(void) {{ for (int i = 0; i < {rounds}; i++) sink += i; }}
typedef unsigned char (*get)(void *, void *, const char *, size_t, char *, size_t, size_t *,
                             unsigned char *, char **);
unsigned char rocksdb_get_into_buffer(void *db, void *options, const char *key, size_t length,
                                      char *buffer, size_t size, size_t *found, unsigned char *any,
                                      char **error) {{
  static get real;
  if (!real) real = (get)dlsym(RTLD_NEXT, \"rocksdb_get_into_buffer\");
  planted();
  return real(db, options, key, length, buffer, size, found, any, error);
}}
"
    )
}

/// The command that builds `planted.c` in the current directory.
pub(crate) fn build(scratch: &Scratch, library: &str) -> String {
    let dir = scratch.path("");
    let dir = dir.display();
    format!(
        "cc -O1 -shared -fPIC planted.c -o {library} -Wl,--no-as-needed -L{dir} -l:base.so -ldl \
         -Wl,-rpath,{dir}"
    )
}
