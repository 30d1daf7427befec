//! Messages about invalid suites.

use super::*;

/// The mistakes in the rendered text, line by line, with their positions.
macro_rules! refused {
    ($($name:ident: $old:literal => $new:expr;)+) => {$(
        #[test]
        fn $name() {
            let text = SMALL.replacen($old, $new, 1);
            assert_ne!(text, SMALL);
            insta::assert_snapshot!(refusal(&text, &Overrides::default()));
        }
    )+};
}

refused! {
    toml_that_is_none: "records = \"1M\"" => "records = = 1M\nkey_bytes = \"16";
    an_unknown_key: "records" => "recrods";
    an_unknown_section: "[data]" => "[date]";
    a_newer_keyword: "[[engine]]" => "[[engine]]\nnuma_node = 1";
    an_unknown_engine: "name = \"null\"" => "name = \"nul\"";
    a_missing_key: "value_bytes = 100" => "";
    a_unit_that_is_none: "\"1M\"" => "\"1Q\"";
    a_unit_that_is_ambiguous: "value_bytes = 100" => "value_bytes = \"4K\"";
    a_time_without_unit: "\"5s\"" => "5";
    a_number_past_64_bits: "\"1M\"" => "\"99999999999999999999\"";
    more_data_than_there_is_space: "\"1M\"" => "\"18P\"\nkey_bytes = 60000";
    records_and_size: "records = \"1M\"" => "records = \"1M\"\nsize = \"1GiB\"";
    a_short_key: "value_bytes" => "key_bytes = 2\nvalue_bytes";
    a_short_value_to_verify: "value_bytes = 100" => "value_bytes = 8\nverify = true";
    a_distribution_of_lengths: "100" =>
        "{ lognormal = { median = 100, sigma = -1.0, maximum = 5 } }";
    a_range_upside_down: "100" => "{ uniform = { min = 9, max = 1 } }";
    two_distributions: "100" => "{ uniform = { min = 9, max = 1 }, pareto = {} }";
    a_name_for_no_file: "\"small\"" => "\"My Suite!\"";
    an_operation_that_is_none: "\"get\"" => "\"read\"";
    a_distribution_that_is_none: "{ op = \"get\" }" =>
        "{ op = \"get\", keys = { distribution = \"zipfian\", theta = 1 } }";
    a_theta_below_zero: "{ op = \"get\" }" =>
        "{ op = \"get\", keys = { distribution = \"zipf\", theta = -0.5 } }";
    a_weight_of_nothing: "{ op = \"get\" }" =>
        "{ op = \"get\", weight = 0 }, { op = \"update\", weight = nan }";
    no_load: "kind = \"load\"" => "kind = \"evict\"";
    a_key_of_another_phase: "kind = \"load\"" => "kind = \"load\"\nduration = \"5s\"";
    no_end: "duration = \"5s\"" => "";
    a_warmup_phase: "kind = \"load\"" => "kind = \"load\"\n[[phase]]\nkind = \"warmup\"";
    twins: "[[phase]]" => "[[engine]]\nname = \"null\"\n[[phase]]";
    a_sweep_of_nothing: "mix" => "threads = \"sweep\"\nmix";
    threads_shared_inside_of_an_engine: "mix" => "threads = 4\nos_threads = 2\nmix";
    a_rate_and_a_depth: "mix" => "rate = { per_second = 10 }\ndepth = 2\nmix";
    a_think_time_and_a_rate: "mix" => "rate = 0.5\nthink_time = \"1ms\"\nmix";
    a_think_time_and_a_depth: "mix" => "depth = 2\nthink_time = \"1ms\"\nmix";
    a_ramp_without_an_end: "duration = \"5s\"" =>
        "operations = 100\nwindows = \"1s\"\nrole = [{ name = \"r\", mix = [{ op = \"get\" }], \
         rate = { ramp = { from = 1, to = 2 } } }]\n[[phase]]\nkind = \"measure\"\n\
         duration = \"5s\"";
    turns_of_one_engine: "[[engine]]" => "[run]\nturns = \"1500ms\"\n[[engine]]";
    turns_that_are_short: "[[engine]]" =>
        "[run]\nturns = \"50ms\"\nslice = \"50ms\"\ndatabase = \"fresh\"\n[[engine]]\n\
         name = \"lmdb\"\n[[engine]]";
    numbers_nobody_takes: "[[engine]]" => "[run]\nthreads = [1, 2, 2]\n[[engine]]";
    an_insert_into_a_shared_database: "\"get\"" => "\"insert\"";
    an_insert_into_a_state:
        "[[engine]]\nname = \"null\"\n[[phase]]\nkind = \"load\"\n[[phase]]\nkind = \"measure\"\n\
         duration = \"5s\"\n[[phase.role]]\nname = \"readers\"\nmix = [{ op = \"get\" }]" =>
        "[run]\ndatabase = \"state\"\n[[engine]]\nname = \"null\"\n[[phase]]\nkind = \"load\"\n\
         [[phase]]\nkind = \"measure\"\nname = \"growth\"\nonce = true\nduration = \"5s\"\n\
         [[phase.role]]\nname = \"writers\"\nmix = [{ op = \"insert\" }]";
    a_missing_ability: "{ op = \"get\" }" => "{ op = \"scan\", reverse = true }";
    a_missing_durability: "name = \"null\"" => "name = \"null\"\ndurability = \"commit\"";
    an_unknown_durability: "name = \"null\"" => "name = \"null\"\ndurability = \"asink\"";
    an_unknown_option: "name = \"null\"" => "name = \"lmdb\"\noptions = { mapsize = \"1GiB\" }";
    options_of_the_wrong_kind: "name = \"null\"" =>
        "name = \"rocksdb\"\n[engine.options]\nblock_cache = \"half\"\n\
         max_write_buffer_number = 100\ncompression = true";
    a_budget_too_small: "[[engine]]" => "[run]\nbudget = \"4s\"\n[[engine]]";
    unscaled_of_no_limit: "[[engine]]" => "[ram]\nunscaled = \"1GiB\"\n[[engine]]";
    two_ram_limits: "[[engine]]" => "[ram]\nlimit = 0\ndata_to_ram = [4, 0]\n[[engine]]";
    a_limit_that_never_begins: "[[engine]]" =>
        "[ram]\nlimit = \"1GiB\"\nwhile_loading = false\n[[engine]]";
    sizes_without_a_unit: "records = \"1M\"\nvalue_bytes = 100" =>
        "size = 512\nvalue_bytes = 100\n[ram]\nlimit = [\"512\", \"64G\"]\nunscaled = 1_000";
    an_option_that_is_ambiguous: "name = \"null\"" =>
        "name = \"rocksdb\"\noptions = { block_cache = \"64G\" }";
    too_many_cases: "[[engine]]" => "[run]\ntrials = 60_000\n[[engine]]";
    a_graph_with_values: "value_bytes = 100" => "value_bytes = 100\nlinkbench = {}";
    a_graph_of_keys: "value_bytes = 100" => "linkbench = { mix = \"2012\" }";
    a_graph_of_too_few: "\"1M\"\nvalue_bytes = 100" => "10\nlinkbench = {}";
    a_request_of_no_graph: "\"get\"" => "\"get_node\"";
    an_opening_with_keys_of_no_use: "mix = [{ op = \"get\" }]" =>
        "expected_hits = \"any\"\nmix = [{ op = \"open\", weight = 2 }]";
    an_opening_beside_others: "mix = [{ op = \"get\" }]" =>
        "threads = 2\nmix = [{ op = \"open\" }, { op = \"get\" }]";
    no_mix: "mix = [{ op = \"get\" }]" => "";
    the_wrong_kind_of_everything: "[data]\nrecords = \"1M\"\nvalue_bytes = 100" =>
        "[data]\nrecords = true\nvalue_bytes = [1]\nverify = \"yes\"\nkey_bytes = { a = 1 }";
}

#[test]
fn a_graph_in_two_phases() {
    let graph = "linkbench = { consistency = \"two_phase\" }";
    let text = SMALL.replace("value_bytes = 100", graph).replace("\"get\"", "\"get_node\"");
    insta::assert_snapshot!(refusal(&text, &Overrides::default()));
}

#[test]
fn mistakes_in_arguments_are_shown_in_the_arguments() {
    let cases: &[&[&str]] = &[
        &["data.records=1Q"],
        &["data.recrods=1M"],
        &["records"],
        &["run.threads=[1,"],
        &["engine.rocksdb.options.block_cache=1GiB"],
        &["phase.7.duration=1s"],
        &["data.records.more=1"],
        &["suite.name=x", "data.seed=-1"],
    ];
    let refusals: Vec<String> =
        cases.iter().map(|arguments| refusal(SMALL, &set(arguments))).collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn an_engine_that_the_suite_has_not_is_refused() {
    let overrides = Overrides { engines: vec!["rocks".to_owned()], ..Overrides::default() };
    insta::assert_snapshot!(refusal(builtin_text("quick"), &overrides));
}
