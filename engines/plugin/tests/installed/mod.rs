//! Plugins that `kvdyno engines get` has installed.

use kvdyno_engine::{Engine as _, library};
use kvdyno_plugin::Plugin;

/// Whether the plugin of `engine` is there to be tested; otherwise prints that the test is skipped.
pub(crate) fn load(engine: &str, test: &str) -> bool {
    let Some(newest) = library::list_installed(engine).into_iter().next() else {
        let why = format!("`kvdyno engines get {engine}` was not done");
        kvdyno_testing::report_skip(engine, test, &why);
        return false;
    };
    Plugin::use_library(Some(&newest.path)).unwrap();
    true
}
