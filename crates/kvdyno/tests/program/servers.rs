//! Real servers under test: accounting per process, the RAM limit, and no remains, however a run
//! ends.

use super::devices::Loop;
use super::limits::can_limit;
use super::scratch::{Scratch, files_below, record, wait_until};
use super::suites::{GET, Suite, UPDATE, suite};
use super::volumes::{can_make, loops};
use super::workers::{self, find, needs, report_skip};
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};
use kvdyno_record::engine::Value;
use kvdyno_record::usage::ProcessUsage;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const MIB: u64 = 1 << 20;

/// All tested servers.
pub(crate) const SERVERS: [&str; 3] = ["redis", "postgres", "mariadb"];

/// The one that starts in no time. What is one code for all servers is tried with it; `make soak`
/// tries the others.
pub(crate) const QUICK: &str = "redis";

pub(crate) fn data() -> Suite {
    suite().data("records = 20000\nvalue_bytes = 400\nverify = true").run("database = \"fresh\"")
}

/// Load, evict, verify, and a phase with two readers, who share a thread, and a writer.
pub(crate) fn whole(engine: &str, options: &str) -> Suite {
    // Aerospike's client waits in the calling thread.
    let os_threads = if engine == "aerospike" { "" } else { "os_threads = 1" };
    data()
        .engine_as(engine, engine, options)
        .load("batch = 100")
        .phase("settle", "limit = \"20s\"")
        .phase("evict", "")
        .phase("verify", "samples = 500")
        .measure("duration = \"400ms\"")
        .role("readers", &format!("threads = 2\n{os_threads}\n{GET}"))
        .role("writer", &format!("{UPDATE}\nrate = {{ per_second = 500 }}"))
}

fn phase<'r>(record: &'r CaseRecord, kind: &str) -> &'r PhaseRecord {
    record.phases.iter().find(|phase| phase.kind == kind).unwrap()
}

fn cpu_ns(usage: &ProcessUsage) -> u64 {
    usage.user_ns + usage.system_ns
}

/// Checks of a case for any server.
#[track_caller]
fn assert_apart(record: &CaseRecord) {
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
    let server = record.server.as_ref().unwrap();
    assert_eq!((server.starts_ns.len(), server.stops_ns.len()), (2, 2), "an evict phase restarts");
    assert!(cpu_ns(server.usage.as_ref().unwrap()) > 0);
    let evict = phase(record, "evict");
    assert!(evict.evicted.is_some());
    let verified = phase(record, "verify").verified.clone().unwrap();
    assert_eq!((verified.hits, verified.wrong), (500, 0));
    let measured = phase(record, "measure");
    let total_ns = |usage: &Option<ProcessUsage>| cpu_ns(usage.as_ref().unwrap());
    let (before, after) = (&measured.before, &measured.after);
    // Short phases may take less than a tick of the clock that counts.
    let loaded = phase(record, "load");
    assert!(total_ns(&after.server) > total_ns(&loaded.before.server), "the server worked");
    assert!(total_ns(&after.process) > total_ns(&before.process), "and so did its client");
    // Work before a restart stays in the sum.
    assert!(total_ns(&before.server) >= total_ns(&loaded.after.server));
}

#[test]
fn a_server_and_its_client_are_accounted_for_apart() {
    let test = "a_server_and_its_client_are_accounted_for_apart";
    for engine in SERVERS.into_iter().filter(|engine| needs(engine, test)) {
        for options in ["", "listen = \"tcp\""] {
            let scratch = Scratch::new();
            scratch.write("s.toml", &whole(engine, options).text());
            scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
            let run = scratch.only_run();
            let record = record(&run, engine);
            assert_apart(&record);
            let address = record.server.unwrap().address;
            let expected = if options.is_empty() { "unix:/" } else { "tcp://***@127.0.0.1:" };
            assert!(address.starts_with(expected), "{address}");
            scratch.run(&["show", "--table", "cost"]).assert_says("client us/op");
            scratch.run(&["check"]).assert_code(0);
            scratch.assert_nothing_left();
        }
    }
}

/// Few threads serve many clients, each with operations in flight, or with its part of a rate.
#[test]
fn clients_on_few_threads_have_operations_in_flight_or_a_rate() {
    let test = "clients_on_few_threads_have_operations_in_flight_or_a_rate";
    if !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    let paced = "rate = { per_second = 1000, schedule = \"fixed\" }";
    let suite = data()
        .engine_as("redis", "redis", "")
        .load("batch = 100")
        .measure("duration = \"400ms\"")
        .role("deep", &format!("threads = 20\nos_threads = 2\ndepth = 10\n{GET}"))
        .role("paced", &format!("threads = 10\nos_threads = 2\n{paced}\n{UPDATE}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    let record = record(&scratch.only_run(), "redis");
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
    let roles = &phase(&record, "measure").roles;
    let (deep, paced) = (&roles[0].ops["get"], &roles[1].ops["update"]);
    assert!(deep.count > 200 && deep.misses == 0 && deep.wrong == 0, "{deep:?}");
    // What was due and not begun is the backlog.
    let issued = paced.count + roles[1].backlog;
    assert!(issued.abs_diff(400) <= 10, "{issued} of 400");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// The server counts its clients' operations, and so does the load generator.
#[test]
fn a_servers_own_counts_are_held_against_ours() {
    let test = "a_servers_own_counts_are_held_against_ours";
    if !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &whole("redis", "").text());
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    let of_server = "the server counted as many operations as the load generator";
    scratch.run(&["check", "--all"]).assert_code(0).assert_says(of_server);
    let case = scratch.only_run().cases().unwrap().remove(0);
    let path = case.path.join("counters.json");
    let mut counters: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let count = &mut counters["phases"]["measure"]["after"]["cmdstat_get.calls"];
    *count = (count.as_u64().unwrap() + 1).into();
    fs::write(&path, counters.to_string()).unwrap();
    scratch.run(&["check"]).assert_code(4).assert_says("cmdstat_get.calls");
}

/// The server's memory is charged to the case, its client's is not.
#[test]
fn a_server_is_inside_the_ram_limit_and_its_client_outside() {
    let test = "a_server_is_inside_the_ram_limit_and_its_client_outside";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !needs("redis", test) {
        return;
    }
    scratch.write("s.toml", &whole("redis", "").ram("256MiB").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let case = scratch.only_run().cases().unwrap().remove(0);
    let (record, counters) = (case.record().unwrap(), case.counters().unwrap());
    assert_apart(&record);
    assert!(record.ram_limit.enforced_by.is_some(), "{:?}", record.ram_limit.reason);
    let resident = match &counters.phases["measure"].after["used_memory_rss"] {
        Value::Integer(bytes) => *bytes,
        other => panic!("{other}"),
    };
    let charged = phase(&record, "measure").after.group.unwrap().memory_bytes;
    assert!(resident > 8 * MIB, "20,000 records of 400 bytes are in it: {resident}");
    assert!(charged + MIB > resident, "{charged} charged, and the server has {resident}");
    scratch.assert_nothing_left();
}

#[test]
fn a_server_that_does_not_fit_its_ram_is_told() {
    let test = "a_server_that_does_not_fit_its_ram_is_told";
    if !can_limit(&Scratch::new(), test) {
        return;
    }
    // A single process, and many, one of which the kernel kills.
    let greedy = [("redis", ""), ("postgres", "shared_buffers = \"400MiB\"")];
    for (engine, options) in greedy.into_iter().filter(|(engine, _)| needs(engine, test)) {
        let scratch = Scratch::new();
        let suite = data()
            .data("records = 150000\nvalue_bytes = 1000")
            .engine_as(engine, engine, options)
            .load("batch = 100")
            .measure("operations = 100")
            .role("readers", GET);
        scratch.write("s.toml", &suite.ram("64MiB").text());
        // No other case was done.
        scratch.run(&["run", "s.toml"]).assert_code(3);
        let outcome = record(&scratch.only_run(), engine).outcome;
        assert!(matches!(outcome, Outcome::DoesNotFit { .. }), "{outcome:?}");
        scratch.assert_nothing_left();
    }
}

/// Reads of some seconds.
pub(crate) fn long(engine: &str) -> Suite {
    let reads = GET.to_owned() + "\nrate = { per_second = 200 }";
    data().engine(engine).load("batch = 100").measure("duration = \"4s\"").role("readers", &reads)
}

/// The process whose program name has this prefix.
pub(crate) fn named(scratch: &Scratch, name: &str) -> Option<Pid> {
    let is = |pid: &String| {
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        command.starts_with(name)
    };
    let pid = scratch.processes().into_iter().find(is)?;
    Pid::from_raw(pid.parse().ok()?)
}

/// It does not reply, and has not ended: the phase's threads wait for it, with a warning.
#[test]
fn a_server_that_is_stopped_is_told_of_while_its_clients_wait() {
    let test = "a_server_that_is_stopped_is_told_of_while_its_clients_wait";
    if !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    let reads = format!("threads = 3\n{GET}");
    let suite = data().engine("redis").load("batch = 100").measure("duration = \"2s\"");
    scratch.write("s.toml", &suite.role("readers", &reads).text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    scratch.wait_for_phase("redis", "measure");
    let server = named(&scratch, "redis-server").unwrap();
    kill_process(server, Signal::STOP).unwrap();
    let words = ": `measure` should have ended ";
    wait_until("it is told", || running.stderr_text().contains(words));
    let output = running.stderr_text();
    assert!(output.contains("3 threads wait for a reply of"), "{output}");
    kill_process(server, Signal::CONT).unwrap();
    let done = running.wait();
    done.assert_ok();
    assert_eq!(done.err.matches(words).count(), 1, "once: {}", done.err);
    scratch.assert_nothing_left();
}

/// It does not end when it is asked to, for a while.
#[test]
fn a_server_that_does_not_end_is_told_of() {
    let test = "a_server_that_does_not_end_is_told_of";
    if !needs("redis", test) {
        return;
    }
    let program = workers::program_of("redis");
    let scratch = Scratch::new();
    let dir = program.parent().unwrap().display();
    // Its first signal to end only stops the server for a while.
    let script = format!(
        "#!/bin/sh\nexport LD_LIBRARY_PATH=$(echo {dir}/../lib/*-linux-gnu)\n\
         trap 'kill -STOP $server; sleep 7; kill -CONT $server; kill $server' TERM\n\
         {} \"$@\" &\nserver=$!\nwait $server || wait $server\n",
        program.display()
    );
    let path = scratch.write("redis-server", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let library = format!("name = \"redis\"\nlibrary = \"{}\"", path.display());
    let suite = data().engine("redis").load("").measure("duration = \"200ms\"");
    let text = suite.role("readers", GET).text().replace("name = \"redis\"", &library);
    scratch.write("s.toml", &text);
    let done = scratch.run(&["run", "s.toml", "--no-ram-limit"]);
    done.assert_ok().assert_says("stopping the server of redis takes 5.");
    scratch.assert_nothing_left();
}

/// The process that creates a database is killed with its client. It leaves its own shared memory
/// on purpose.
#[test]
fn what_makes_a_database_leaves_nothing_in_shared_memory() {
    let test = "what_makes_a_database_leaves_nothing_in_shared_memory";
    if !needs("postgres", test) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        report_skip("root", test, "only root has namespaces for sure");
        return;
    }
    let program = workers::program_of("postgres");
    let scratch = Scratch::new();
    let name = format!("PostgreSQL.{}", std::process::id());
    fs::create_dir(scratch.path("bin")).unwrap();
    for (wrapper, first) in [("postgres", ""), ("initdb", &format!("echo > /dev/shm/{name}\n"))] {
        let real = program.with_file_name(wrapper);
        let script = format!("#!/bin/sh\n{first}exec {} \"$@\"\n", real.display());
        let path = scratch.write(&format!("bin/{wrapper}"), &script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let library =
        format!("name = \"postgres\"\nlibrary = \"{}\"", scratch.path("bin/postgres").display());
    let text = long("postgres").text().replace("name = \"postgres\"", &library);
    scratch.write("s.toml", &text);
    let done = scratch.run(&["run", "s.toml", "--no-ram-limit"]);
    let removed = fs::remove_file(format!("/dev/shm/{name}"));
    done.assert_ok();
    assert!(removed.is_err(), "/dev/shm/{name} was left");
}

/// A blank loop device.
const BARE: &str = "kind = \"loop\"\nfilesystem = \"raw\"\nsize = \"512MiB\"";

/// Of the server that takes a device without a filesystem, on one.
fn on_bare_device(suite: Suite, volume: &str) -> Suite {
    let class = "durability = \"none\"\n[engine.options]";
    suite.with("[engine.options]", class).volume("raw", volume)
}

fn with_aerospike(test: &str) -> Option<Scratch> {
    if !can_make(test, &[]) || !needs("aerospike", test) || !has_asd(test) {
        return None;
    }
    let scratch = Scratch::new();
    scratch.link("aerospike", &find("aerospike")?);
    Some(scratch)
}

#[test]
fn a_server_on_a_bare_device_keeps_its_records() {
    let Some(scratch) = with_aerospike("a_server_on_a_bare_device_keeps_its_records") else {
        return;
    };
    scratch.write("s.toml", &on_bare_device(whole("aerospike", ""), BARE).text());
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    let case = scratch.only_run().cases().unwrap().remove(0);
    assert_apart(&case.record().unwrap());
    let counters = case.counters().unwrap();
    assert!(counters.phases["load"].after.contains_key("storage-engine.device[0].writes"));
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
    let two = on_bare_device(whole("aerospike", "replication_factor = 2"), BARE);
    scratch.write("s.toml", &two.text());
    let done = scratch.run(&["run", "s.toml", "--no-ram-limit"]);
    done.assert_says("raw device");
}

/// After a restart, the server scans its whole device.
#[test]
fn a_server_on_a_given_device_takes_up_nothing_that_another_left() {
    let test = "a_server_on_a_given_device_takes_up_nothing_that_another_left";
    let Some(scratch) = with_aerospike(test) else { return };
    let Some(device) = Loop::with_name(&scratch, test, "image", 512 << 20) else { return };
    let volume = format!("kind = \"device\"\npath = \"{}\"\nfilesystem = \"raw\"", device.path);
    let large = on_bare_device(whole("aerospike", ""), &volume).text();
    for (text, records) in
        [(large.clone(), 20_000), (large.replace("records = 20000", "records = 3000"), 3000)]
    {
        scratch.write("s.toml", &text);
        let _ = fs::remove_dir_all(scratch.path("runs"));
        scratch.run(&["run", "s.toml", "--no-ram-limit", &device.confirm()]).assert_ok();
        let case = scratch.only_run().cases().unwrap().remove(0);
        let counters = case.counters().unwrap();
        assert_eq!(counters.phases["measure"].after["objects"], Value::Integer(records));
        assert!(device.is_blank(), "it is given back");
    }
    scratch.assert_nothing_left();
}

/// Its own files next to the device are in memory, and disappear with any killed process.
#[test]
fn a_killed_server_on_a_bare_device_leaves_nothing() {
    for who in ["kvdyno", "kvdyno-aero", "asd"] {
        let test = "a_killed_server_on_a_bare_device_leaves_nothing";
        let Some(scratch) = with_aerospike(test) else { return };
        scratch.write("s.toml", &on_bare_device(long("aerospike"), BARE).text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
        scratch.wait_for_phase("aerospike", "measure");
        match who {
            "kvdyno" => running.signal(Signal::KILL),
            name => kill_process(named(&scratch, name).unwrap(), Signal::KILL).unwrap(),
        }
        running.wait();
        wait_until("all processes are gone", || scratch.processes().is_empty());
        wait_until("no loop device is left", || loops(&scratch).is_empty());
        let files = files_below(&scratch.runs().remove(0));
        assert!(!files.iter().any(|file| file.ends_with("aerospike.conf")), "{files:?}");
        if who == "kvdyno" {
            scratch.run(&["resume"]).assert_ok();
        }
        scratch.assert_nothing_left();
    }
}

/// It has no package.
fn has_asd(test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|dir| dir.join("asd").is_file());
    if !installed {
        report_skip("aerospike", test, "no asd on PATH");
    }
    installed
}

#[test]
fn a_server_that_is_not_here_is_named_with_the_remedy() {
    let test = "a_server_that_is_not_here_is_named_with_the_remedy";
    if !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &whole("redis", "").text());
    let mut command = scratch.kvdyno(&["run", "s.toml"]);
    command.env("XDG_CACHE_HOME", scratch.path("tmp")).env_remove("KVDYNO_LIBRARY_PATH");
    let done = scratch.start(command).wait();
    done.assert_code(2).assert_says("kvdyno engines get redis");
    let none = scratch.write("none", "");
    let text = whole("redis", "").text();
    let library = format!("name = \"redis\"\nlibrary = \"{}\"", none.display());
    scratch.write("s.toml", &text.replace("name = \"redis\"", &library));
    scratch.run(&["run", "s.toml"]).assert_code(2).assert_says("kvdyno engines get redis");
    assert_eq!(scratch.runs(), Vec::<std::path::PathBuf>::new());
}

/// YCSB with a server that cannot scan: it runs the workloads without scans, and nothing is
/// refused.
#[test]
fn an_engine_without_scans_does_the_phases_without_scans() {
    let test = "an_engine_without_scans_does_the_phases_without_scans";
    let scratch = Scratch::new();
    if !needs("redis", test) || !needs("lmdb", test) {
        return;
    }
    let ycsb = [
        "ycsb",
        "--engine",
        "lmdb,redis",
        "--phases",
        "load,a,e",
        "--scale",
        "1/100",
        "--threads",
        "1",
        "--trials",
        "1",
    ];
    scratch.run(&[&["plan"], &ycsb[..]].concat()).assert_code(0).assert_says("redis");
    scratch.run(&[&["run"], &ycsb[..]].concat()).assert_ok().assert_says("SKIPPED:");
    let run = scratch.only_run();
    let [left_out] = &run.plan().unwrap().left_out[..] else { panic!("one engine has no scan") };
    assert_eq!((left_out.engine.as_str(), left_out.phase.as_deref()), ("redis", Some("e")));
    let measured = |engine: &str| -> Vec<String> {
        let record = record(&run, &format!("_{engine}_t1"));
        assert_eq!(record.outcome, Outcome::Done);
        let measured = record.phases.iter().filter(|phase| phase.kind == "measure");
        measured.map(|phase| phase.name.clone()).collect()
    };
    assert_eq!(
        (measured("lmdb"), measured("redis")),
        (vec!["a".into(), "e".into()], vec!["a".into()])
    );
    scratch.run(&["show", "--table", "not-here"]).assert_code(0).assert_says("redis");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
