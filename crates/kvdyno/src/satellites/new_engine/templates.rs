//! The files of a new engine by its language, with placeholders for names and paths.

use crate::cli::Language;

/// A file: its path, its contents, and its description.
pub(super) type Template = (&'static str, &'static str, &'static str);

/// The contract between kvdyno and a plugin.
const HEADER: Template = (
    "kvdyno_engine.h",
    include_str!("../../../../../engines/plugin/include/kvdyno_engine.h"),
    "the contract, with its documentation",
);

const README: Template = ("README.md", include_str!("README.md.txt"), "its commands");

const RUST: &[Template] = &[
    ("Cargo.toml", include_str!("rust/Cargo.toml.txt"), "the manifest"),
    ("src/main.rs", include_str!("rust/main.rs.txt"), "the two traits, with the kit as their test"),
    ("src/store.rs", include_str!("rust/store.rs.txt"), "a map, to replace by your engine"),
    ("README.md", include_str!("rust/README.md.txt"), "its commands"),
];

const C: &[Template] = &[
    ("engine.c", include_str!("c/engine.c.txt"), "the functions of the header"),
    ("store.c", include_str!("c/store.c.txt"), "a map, to replace by your engine"),
    ("store.h", include_str!("c/store.h.txt"), "its functions"),
    HEADER,
    ("Makefile", include_str!("c/Makefile.txt"), "`make` and `make test`"),
    README,
];

const CPP: &[Template] = &[
    ("engine.cc", include_str!("cpp/engine.cc.txt"), "the functions of the header"),
    ("store.h", include_str!("cpp/store.h.txt"), "a map, to replace by your engine"),
    HEADER,
    ("Makefile", include_str!("cpp/Makefile.txt"), "`make` and `make test`"),
    README,
];

const GO: &[Template] = &[
    ("engine.go", include_str!("go/engine.go.txt"), "the methods of a database and a session"),
    ("store.go", include_str!("go/store.go.txt"), "a map, to replace by your engine"),
    ("go.mod", include_str!("go/go.mod.txt"), "the module; your engine comes here"),
    (
        "kvdyno/engine.go",
        include_str!("../../../../../engines/plugin/go/kvdyno/engine.go"),
        "the contract in Go",
    ),
    (
        "kvdyno/exports.go",
        include_str!("../../../../../engines/plugin/go/kvdyno/exports.go"),
        "the functions of the header",
    ),
    (
        "kvdyno/table.c",
        include_str!("../../../../../engines/plugin/go/kvdyno/table.c"),
        "their table",
    ),
    (
        "kvdyno/table.h",
        include_str!("../../../../../engines/plugin/go/kvdyno/table.h"),
        "what Go calls of it",
    ),
    (
        "kvdyno/go.mod",
        include_str!("../../../../../engines/plugin/go/kvdyno/go.mod"),
        "the module of these",
    ),
    ("kvdyno/kvdyno_engine.h", HEADER.1, "the contract, with its documentation"),
    ("Makefile", include_str!("go/Makefile.txt"), "`make` and `make test`"),
    README,
];

const ZIG: &[Template] = &[
    ("engine.zig", include_str!("zig/engine.zig.txt"), "the functions of the header"),
    ("store.zig", include_str!("zig/store.zig.txt"), "a map, to replace by your engine"),
    ("c.h", include_str!("zig/c.h.txt"), "what both take from C"),
    HEADER,
    ("Makefile", include_str!("zig/Makefile.txt"), "`make` and `make test`"),
    README,
];

/// The files of an engine in this language.
pub(super) fn templates(language: Language) -> &'static [Template] {
    match language {
        Language::C => C,
        Language::Cpp => CPP,
        Language::Go => GO,
        Language::Rust => RUST,
        Language::Zig => ZIG,
    }
}
