//! The built-in suites. Each is also a file to copy: `suites/`.

/// Returns the name and the text of each built-in suite.
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    &[
        (
            "callaghan-linkbench-2015",
            include_str!("../../../../suites/callaghan-linkbench-2015.toml"),
        ),
        ("db_bench", include_str!("../../../../suites/db_bench.toml")),
        ("dbbench", include_str!("../../../../suites/dbbench.toml")),
        ("durability", include_str!("../../../../suites/durability.toml")),
        ("field", include_str!("../../../../suites/field.toml")),
        ("linkbench", include_str!("../../../../suites/linkbench.toml")),
        ("opening", include_str!("../../../../suites/opening.toml")),
        ("sizing", include_str!("../../../../suites/sizing.toml")),
        ("quick", include_str!("../../../../suites/quick.toml")),
        ("raidix-metadata-2017", include_str!("../../../../suites/raidix-metadata-2017.toml")),
        ("rocksdb-history", include_str!("../../../../suites/rocksdb-history.toml")),
        ("selectel-p4800x-2018", include_str!("../../../../suites/selectel-p4800x-2018.toml")),
        ("servers", include_str!("../../../../suites/servers.toml")),
        ("symas-imdt-2018", include_str!("../../../../suites/symas-imdt-2018.toml")),
        ("symas-optane-2018", include_str!("../../../../suites/symas-optane-2018.toml")),
        ("versus", include_str!("../../../../suites/versus.toml")),
        ("ycsb", include_str!("../../../../suites/ycsb.toml")),
    ]
}
