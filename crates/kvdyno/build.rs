//! Puts the report's page into the program where `report/` was built (`make page`). Without it the
//! program builds as well, and `kvdyno report` says what to do.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../report/dist");
    // The folder, not the file: one that is not there would have this run at every build.
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page.html");
    match fs::read(folder.join("index.html")) {
        Ok(page) => fs::write(out, page),
        Err(_) => fs::write(out, ""),
    }
}
