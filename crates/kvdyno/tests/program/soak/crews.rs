//! Crews: several workers that drive one server, launched by MPI on this machine and in network
//! namespaces with addresses of their own.

use crate::scratch::{Done, Running, Scratch, files_below, record, wait_until};
use crate::suites::{GET, Suite, UPDATE, suite};
use crate::workers::{find, needs, needs_root, report_skip};
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};
use kvdyno_record::engine::{Value, library};
use kvdyno_record::files::CaseDir;
use kvdyno_record::hlog::{Intervals, Kind};
use kvdyno_record::series::Slice;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const RANKS: u32 = 4;

/// A launcher of MPI, and the program that is launched.
fn has_mpi(test: &str) -> bool {
    let installed =
        find("crew").is_some() && Command::new("mpirun").arg("--version").output().is_ok();
    if !installed {
        report_skip("mpi", test, "no mpirun or no kvdyno-crew (`make crew`)");
    }
    installed
}

/// Loaded, looked through, and worked on by readers and writers, one of them on a schedule.
fn whole(engine: &str) -> Suite {
    suite()
        .data("records = 5000\nvalue_bytes = 100")
        .run("database = \"fresh\"\nslice = \"100ms\"")
        .engine(engine)
        .crew(RANKS)
        .load("batch = 50\nthreads = 3")
        .phase("verify", "samples = 500")
        .measure("warmup = \"100ms\"\nduration = \"450ms\"")
        .role("readers", &format!("threads = 5\n{GET}"))
        .role("writers", &format!("threads = 4\n{UPDATE}\nrate = {{ per_second = 800 }}"))
        .phase("measure", "name = \"counted\"\noperations = 3001")
        .role("adders", "threads = 4\nmix = [{ op = \"insert\" }]")
        .phase("measure", "name = \"after\"\nduration = \"200ms\"")
        .role("lookers", &format!("threads = 4\n{GET}"))
}

fn phase<'r>(record: &'r CaseRecord, name: &str) -> &'r PhaseRecord {
    record.phases.iter().find(|phase| phase.name == name).unwrap()
}

fn operations(phase: &PhaseRecord, role: &str, op: &str) -> u64 {
    phase.roles.iter().find(|other| other.role == role).unwrap().ops[op].count
}

/// Each operation once: in the rows, in the slices, and in the histograms.
#[track_caller]
fn assert_adds_up(case: &CaseDir, record: &CaseRecord) {
    let series = fs::read_to_string(case.path.join("series.ndjson")).unwrap();
    let slices: Vec<Slice> =
        series.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let intervals = Intervals::open(&case.path.join("latency.hlog")).unwrap();
    let intervals: Vec<_> = intervals.collect::<Result<_, _>>().unwrap();
    let mut met = 0;
    for phase in record.phases.iter().filter(|phase| !phase.roles.is_empty()) {
        assert_eq!(phase.ranks.len(), RANKS as usize, "{}", phase.name);
        let of_ranks: u64 = phase.ranks.iter().map(|rank| rank.operations).sum();
        let ops = || phase.roles.iter().flat_map(|role| role.ops.values());
        let all: u64 = ops().map(|op| if phase.kind == "load" { op.items } else { op.count }).sum();
        assert_eq!(of_ranks, all, "{}", phase.name);
        let threads: u32 = phase.ranks.iter().map(|rank| rank.threads).sum();
        assert_eq!(threads, phase.roles.iter().map(|role| role.threads).sum::<u32>());
        let phase_slices: Vec<&Slice> =
            slices.iter().filter(|slice| slice.phase == phase.name).collect();
        assert!(
            (0..).zip(&phase_slices).all(|(number, slice)| slice.slice == number),
            "none is missing"
        );
        for role in &phase.roles {
            for (name, op) in &role.ops {
                let counts =
                    phase_slices.iter().filter_map(|slice| slice.roles.get(&role.role)?.get(name));
                let counted: u64 = counts.map(|counts| counts.count).sum();
                assert_eq!(counted, op.count, "{} {} {name}", phase.name, role.role);
                let times = intervals.iter().filter(|interval| {
                    let interval_tag = (&interval.phase, &interval.role, &interval.op);
                    interval_tag == (&phase.name, &role.role, name)
                        && interval.kind == Kind::Service
                });
                let times = times.flat_map(|interval| interval.counts.iter());
                assert_eq!(times.map(|(_, count)| count).sum::<u64>(), op.count);
                met += 1;
            }
        }
    }
    assert!(met >= 5, "{met} operations of roles");
}

/// How much a number of the server's own grew while a phase ran.
fn grew(case: &CaseDir, phase: &str, counter: &str) -> u64 {
    let counters = case.counters().unwrap();
    let pair = &counters.phases[phase];
    let read = |side: &std::collections::BTreeMap<String, Value>| match side.get(counter) {
        Some(Value::Integer(count)) => *count,
        Some(other) => panic!("{other}"),
        None => 0,
    };
    read(&pair.after) - read(&pair.before)
}

#[test]
fn four_ranks_are_one_worker_to_the_program() {
    let test = "four_ranks_are_one_worker_to_the_program";
    if !has_mpi(test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &whole("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let case = run.cases().unwrap().remove(0);
    let record = case.record().unwrap();
    assert_eq!(record.outcome, Outcome::Done);
    assert_adds_up(&case, &record);
    let measured = phase(&record, "measure");
    let dealt: Vec<u32> = measured.ranks.iter().map(|rank| rank.threads).collect();
    assert_eq!(dealt, [3, 2, 2, 2], "five readers and four writers");
    let writers = measured.roles.iter().find(|role| role.role == "writers").unwrap();
    assert_eq!(writers.offered_per_s, Some(800.0));
    let written = writers.ops["update"].count + writers.backlog;
    assert!((300..=420).contains(&written), "800 a second in 450 ms: {written}");
    assert_eq!(operations(phase(&record, "counted"), "adders", "insert"), 3001);
    for rank in &measured.ranks {
        let sure = rank.clock_offset_ns.unsigned_abs() <= rank.clock_error_ns + 1_000_000;
        assert!(sure, "one machine has one clock: {rank:?}");
    }
    assert_eq!(phase(&record, "verify").verified.as_ref().unwrap().sampled, 500);
    scratch.run(&["check"]);
    scratch.assert_nothing_left();
}

/// The server has counted each operation of every rank, and holds a record for each key.
#[test]
fn a_server_counts_what_all_ranks_did() {
    let test = "a_server_counts_what_all_ranks_did";
    if !has_mpi(test) || !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    // What the null engine answers is no value of ours.
    let text =
        whole("redis").text().replace("value_bytes = 100", "value_bytes = 100\nverify = true");
    scratch.write("s.toml", &text);
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    let case = scratch.only_run().cases().unwrap().remove(0);
    let record = case.record().unwrap();
    assert_eq!(record.outcome, Outcome::Done);
    assert_adds_up(&case, &record);
    let measured = phase(&record, "measure");
    let gets = operations(measured, "readers", "get");
    assert!(gets > 1000, "{gets}");
    assert_eq!(grew(&case, "measure", "cmdstat_get.calls"), gets);
    assert_eq!(
        grew(&case, "measure", "cmdstat_set.calls"),
        operations(measured, "writers", "update")
    );
    assert_eq!(grew(&case, "counted", "cmdstat_set.calls"), 3001);
    // Those of other ranks too: had two inserted one key, there would be fewer records.
    let verified = phase(&record, "verify").verified.as_ref().unwrap();
    assert_eq!((verified.sampled, verified.hits, verified.wrong), (500, 500, 0));
    let looked = &phase(&record, "after").roles[0].ops["get"];
    assert_eq!((looked.misses, looked.wrong), (0, 0), "ranks look up what they have inserted");
    let of_server = "the server counted as many operations as the load generator";
    scratch.run(&["check", "--all"]).assert_code(0).assert_says(of_server);
    scratch.assert_nothing_left();
}

/// Reads of some seconds.
fn long(engine: &str) -> Suite {
    let reads = format!("threads = 4\n{GET}\nrate = {{ per_second = 400 }}");
    suite().engine(engine).crew(RANKS).load("").measure("duration = \"6s\"").role("readers", &reads)
}

/// A process whose program's name begins so, and that is not the first of them.
fn kill_one(scratch: &Scratch, name: &str) {
    let is = |pid: &String| {
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        command.starts_with(name)
    };
    let mut pids: Vec<i32> =
        scratch.processes().iter().filter(|pid| is(pid)).map(|pid| pid.parse().unwrap()).collect();
    pids.sort_unstable();
    kill_process(Pid::from_raw(*pids.last().unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn killed(name: &str) -> (Scratch, Done) {
    let scratch = Scratch::new();
    scratch.write("s.toml", &long("null").text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("null", "measure");
    kill_one(&scratch, name);
    let done = running.wait();
    (scratch, done)
}

/// A rank, or its worker, or what launched them: all others end with it.
#[test]
fn a_rank_that_dies_ends_the_case_and_leaves_nothing() {
    let test = "a_rank_that_dies_ends_the_case_and_leaves_nothing";
    if !has_mpi(test) {
        return;
    }
    let output = [
        ("kvdyno-null", "of 4 ("),
        ("kvdyno-crew", "exited on signal 9"),
        ("mpirun", "killed: in `measure`"),
    ];
    for (name, words) in output {
        let (scratch, done) = killed(name);
        done.assert_says(words);
        let outcome = record(&scratch.only_run(), "_t").outcome;
        assert!(!matches!(outcome, Outcome::Done), "{name}: {outcome:?}");
        scratch.assert_nothing_left();
    }
}

/// What a server of Redis answers.
fn ask(server: &mut BufReader<UnixStream>, words: &str) -> String {
    server.get_mut().write_all(format!("{words}\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    server.read_line(&mut line).unwrap();
    let Some(bytes) = line.strip_prefix('$') else { return line };
    let mut answer = vec![0; bytes.trim().parse::<usize>().unwrap() + 2];
    server.read_exact(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// The server hangs up on one client of four, in a phase of minutes: the others do not go on alone.
#[test]
fn a_rank_that_fails_ends_the_phase_for_all() {
    let test = "a_rank_that_fails_ends_the_phase_for_all";
    if !has_mpi(test) || !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    let text = long("redis").run("max_errors = 0\nslice = \"100ms\"").text();
    scratch.write("s.toml", &text.replace("\"6s\"", "\"10m\""));
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    wait_until("slices of the phase are there while it runs", || {
        let slices = slices_of(&scratch, "measure");
        slices.iter().filter(|slice| !slice.roles.is_empty()).count() > 3
    });
    let run = scratch.runs().remove(0);
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "sock");
    let socket = files_below(&run).into_iter().find(is_socket).unwrap();
    let mut server = BufReader::new(UnixStream::connect(socket).unwrap());
    let clients = ask(&mut server, "CLIENT LIST");
    let client = clients.lines().find(|line| line.contains(" cmd=get ")).unwrap();
    let id = client.split(' ').find_map(|word| word.strip_prefix("id=")).unwrap();
    assert_eq!(ask(&mut server, &format!("CLIENT KILL ID {id}")), ":1\r\n");
    running.wait();
    let record = record(&scratch.only_run(), "_t");
    let Outcome::Failed { message, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(message.starts_with("rank ") && message.contains(" of 4 ("), "{message}");
    // What all of them did up to there is kept.
    let measured = phase(&record, "measure");
    assert_eq!(measured.ranks.len(), RANKS as usize);
    assert_eq!(measured.ranks.iter().map(|rank| rank.errors).sum::<u64>(), 1);
    let counted: u64 = measured.ranks.iter().map(|rank| rank.operations).sum();
    let in_slices = slices_of(&scratch, "measure");
    let in_slices = in_slices.iter().filter_map(|slice| slice.roles.get("readers")?.get("get"));
    assert_eq!(in_slices.map(|get| get.count).sum::<u64>(), counted);
    scratch.assert_nothing_left();
}

/// What stands in the series of the only run's last case.
fn slices_of(scratch: &Scratch, phase: &str) -> Vec<Slice> {
    let runs = scratch.runs();
    let files = runs.iter().flat_map(|run| files_below(&run.join("cases")));
    let mut series: Vec<PathBuf> = files.filter(|path| path.ends_with("series.ndjson")).collect();
    series.sort();
    let text = series.last().map(|path| fs::read_to_string(path).unwrap()).unwrap_or_default();
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let slices = lines.map(|line| serde_json::from_str::<Slice>(line).unwrap());
    slices.filter(|slice| slice.phase == phase).collect()
}

/// One rank's worker that is held up for nine tenths of the time is no client like the others.
#[test]
fn a_rank_that_is_held_up_is_named() {
    let test = "a_rank_that_is_held_up_is_named";
    if !has_mpi(test) || !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite().engine("redis").crew(RANKS).load("").measure("duration = \"4s\"");
    scratch.write("s.toml", &suite.role("readers", &format!("threads = 4\n{GET}")).text());
    let mut running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    scratch.wait_for_phase("redis", "measure");
    let worker = |pid: &String| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        words[0].ends_with(b"kvdyno-redis") && words.contains(&&b"run"[..])
    };
    let workers = scratch.processes().into_iter().filter(worker);
    let workers: Vec<i32> = workers.map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(workers.len(), RANKS as usize);
    let held = Pid::from_raw(workers[1]).unwrap();
    while running.is_running() {
        // It ends before the program does.
        let stopped = kill_process(held, Signal::STOP);
        sleep(Duration::from_millis(90));
        if stopped.and_then(|()| kill_process(held, Signal::CONT)).is_err() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    running.wait();
    let findings = scratch.run(&["show", "--json"]).json()["findings"].clone();
    let mut findings = findings.as_array().unwrap().iter();
    let finding = findings.find(|finding| finding["id"] == "clients-uneven").unwrap();
    let evidence = finding["evidence"].as_str().unwrap();
    assert!(evidence.contains("at the median"), "{evidence}");
    let table = scratch.run(&["show", "--table", "ranks"]);
    table.assert_says("median %").assert_says("ops/s");
    scratch.assert_nothing_left();
}

/// Asked to stop, all ranks keep what they have; killed with the program, none stays.
#[test]
fn a_crew_ends_with_its_program() {
    let test = "a_crew_ends_with_its_program";
    if !has_mpi(test) {
        return;
    }
    let begun = || {
        let scratch = Scratch::new();
        scratch.write("s.toml", &long("null").text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
        scratch.wait_for_phase("null", "measure");
        // It has been said go: until the ranks hear that, a stop is one before they begin.
        sleep(Duration::from_secs(1));
        (scratch, running)
    };
    let (scratch, running) = begun();
    running.signal(Signal::INT);
    running.wait();
    let record = record(&scratch.only_run(), "_t");
    assert!(matches!(record.outcome, Outcome::Interrupted { .. }), "{:?}", record.outcome);
    let measured = phase(&record, "measure");
    assert!(measured.stopped && measured.ranks.len() == RANKS as usize);
    scratch.assert_nothing_left();
    let (scratch, running): (_, Running) = begun();
    running.signal(Signal::KILL);
    running.wait();
    wait_until("all processes are gone", || scratch.processes().is_empty());
}

/// Two networks that know of each other, gone with this; a rank launched in the second.
struct Networks {
    names: [String; 2],
}

/// Ours and theirs, of those that are for documentation.
const ADDRESSES: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

impl Networks {
    fn make(test: &str) -> Option<Self> {
        if !needs_root(test) {
            return None;
        }
        let pid = std::process::id();
        let names = ["a", "b"].map(|end| format!("kvd{pid}{end}"));
        let networks = Self { names };
        let [a, b] = &networks.names;
        let script = format!(
            "ip netns add {a} && ip netns add {b} \
             && ip link add {a} netns {a} type veth peer name {b} netns {b} \
             && ip -n {a} addr add {}/24 dev {a} && ip -n {b} addr add {}/24 dev {b} \
             && ip -n {a} link set {a} up && ip -n {b} link set {b} up \
             && ip -n {a} link set lo up && ip -n {b} link set lo up",
            ADDRESSES[0], ADDRESSES[1]
        );
        let made = Command::new("sh").args(["-c", &script]).output().unwrap();
        if !made.status.success() {
            report_skip("netns", test, String::from_utf8_lossy(&made.stderr).trim());
            return None;
        }
        Some(networks)
    }

    fn inside(&self, end: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.names[end]]
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// A server that somebody runs, in a network of its own.
struct Server(Child);

impl Server {
    fn start(networks: &Networks, port: u16) -> Self {
        let program = library::list_installed("redis").remove(0).path;
        let libraries = library::bundled_library_dirs(&program).join(":");
        let [ip, words @ ..] = networks.inside(0);
        let mut command = Command::new(ip);
        command.args(words).arg(program).args(["--bind", ADDRESSES[0], "--save", ""]);
        command.args(["--port", &port.to_string(), "--requirepass", "not-said"]);
        command.env("LD_LIBRARY_PATH", libraries).stdout(Stdio::null()).stdin(Stdio::null());
        let server = Self(command.spawn().unwrap());
        let script = format!("exec 3<>/dev/tcp/{}/{port}", ADDRESSES[0]);
        wait_until("the server answers", || {
            let [ip, words @ ..] = networks.inside(0);
            let answer = Command::new(ip).args(words).args(["bash", "-c", &script]).output();
            answer.unwrap().status.success()
        });
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two ranks here, two at another address, reached as over a network: what `ssh` is elsewhere is a
/// script that enters the other namespace.
#[test]
fn hosts_with_their_own_addresses_drive_one_server() {
    let test = "hosts_with_their_own_addresses_drive_one_server";
    if !has_mpi(test) || !needs("redis", test) {
        return;
    }
    let Some(networks) = Networks::make(test) else { return };
    let scratch = Scratch::new();
    let _server = Server::start(&networks, 7411);
    let remote = &networks.names[1];
    let entered = scratch.path("entered");
    let remote = format!("ip netns exec {remote} sh -c \"$*\"");
    let enter = format!("shift\ntouch {}\nexec {remote}\n", entered.display());
    let agent = scratch.script("enter", &enter);
    let [here, other] = ADDRESSES;
    let launch = format!(
        "mpirun --host {{hosts}} -n {{ranks}} --bind-to none --allow-run-as-root \
         --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self \
         --mca plm_rsh_agent {}",
        agent.display()
    );
    let crew = format!("[crew]\nhosts = [\"{here}:2\", \"{other}:2\"]\nlaunch = \"{launch}\"\n");
    let text = whole("redis").text().replace("[crew]\nhosts = [\"localhost:4\"]\n", &crew);
    let attached = "name = \"redis\"\nserver = { attach = \"env:THEIR_URL\" }\n";
    scratch.write("s.toml", &text.replace("name = \"redis\"\n", attached));
    let mut command =
        scratch.kvdyno_by(&networks.inside(0), &["run", "s.toml", "--yes-load", here]);
    command.env("THEIR_URL", format!("redis://:not-said@{here}:7411/3"));
    scratch.start(command).wait().assert_ok();
    let case = scratch.only_run().cases().unwrap().remove(0);
    let record = case.record().unwrap();
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
    assert_adds_up(&case, &record);
    assert!(entered.exists(), "ranks were started at the other address");
    let log = fs::read_to_string(case.path.join("log.txt")).unwrap();
    assert!(!log.contains("not-said"), "{log}");
    scratch.assert_nothing_left();
}
