//! Clients of servers against the servers' own tools, on the same server, with as many connections,
//! in turns: `redis-benchmark` and `pgbench` (a prepared statement), each with as many threads as
//! connections. Reads and writes of 100,000 records of 100 bytes,
//! all in memory, over a Unix socket; what an operation costs the client beside it.

use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::{Context as _, bail, ensure};
use kvdyno::running::runner::load_generator::{random_reads, small_records};
use kvdyno::running::runner::solo::{Outcome, Solo, items_per_s};
use kvdyno_host::child::Child;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{DataShape, Durability, Location, Options};
use kvdyno_record::protocol::{Event, ServerJob, SupervisorOrder};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{Activity, Load, LoadOrder, Mix, Op, Phase};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

const RECORDS: u64 = 100_000;
pub(super) const CONNECTIONS: u32 = 4;
const MEASURE_NS: u64 = 3 * SECOND;

/// Operations per second, and the client's CPU time per operation.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    per_s: f64,
    pub(super) client_ns: f64,
}

/// A server's own tool: its name, and its arguments for reads or for writes.
struct Tool {
    engine: &'static str,
    name: &'static str,
    /// Once, before the first: loads its own records.
    prepare: fn(&Server) -> anyhow::Result<()>,
    command: fn(&Server, writes: bool) -> anyhow::Result<Command>,
    /// Operations and seconds, from its output.
    per_s: fn(&str) -> Option<f64>,
}

static TOOLS: [Tool; 2] = [
    Tool {
        engine: "redis",
        name: "redis-benchmark",
        prepare: |server| redis(server, &["-n", "300000", "SET", "key:__rand_int__", "__data__"]),
        command: |server, writes| {
            let mut command = redis_benchmark(server)?;
            command.args(["-n", if writes { "150000" } else { "200000" }]);
            let value = "v".repeat(100);
            if writes {
                command.args(["SET", "key:__rand_int__", &value]);
            } else {
                command.args(["GET", "key:__rand_int__"]);
            }
            Ok(command)
        },
        per_s: |text| {
            let line = text.lines().rfind(|line| line.starts_with('"'))?;
            line.split("\",\"").nth(1)?.parse().ok()
        },
    },
    Tool {
        engine: "postgres",
        name: "pgbench",
        prepare: |server| {
            let table = "CREATE TABLE peer (k bytea PRIMARY KEY, v bytea NOT NULL); \
                         INSERT INTO peer SELECT int8send(n) || int8send(n), \
                         decode(repeat('ab', 100), 'hex') \
                         FROM generate_series(1, 100000) n";
            let clean = "VACUUM ANALYZE";
            let ran = postgres(server, "psql")?.args(["-q", "-c", table, "-c", clean]).status()?;
            ensure!(ran.success(), "psql: {ran}");
            Ok(())
        },
        command: |server, writes| {
            let key = "int8send(:n) || int8send(:n)";
            let statement = if writes {
                // As the adapter's.
                format!(
                    "INSERT INTO peer VALUES ({key}, decode(repeat('cd', 100), 'hex')) \
                     ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v;"
                )
            } else {
                format!("SELECT v FROM peer WHERE k = {key};")
            };
            let script = server.dir.join("script.sql");
            std::fs::write(&script, format!("\\set n random(1, {RECORDS})\n{statement}\n"))?;
            let mut command = postgres(server, "pgbench")?;
            command
                .args(["-n", "-M", "prepared", "-c", "4", "-j", "4", "-T", "3", "-f"])
                .arg(script);
            Ok(command)
        },
        per_s: |text| {
            let line = text.lines().find(|line| line.starts_with("tps = "))?;
            line.split_whitespace().nth(2)?.parse().ok()
        },
    },
];

impl Bench {
    pub(crate) fn servers(&mut self) -> anyhow::Result<()> {
        for tool in &TOOLS {
            let Ok(identity) = identity(tool.engine) else {
                println!("{}: not built, or `kvdyno engines get` was not done", tool.engine);
                continue;
            };
            let dir = scratch()?;
            let server = Server::start(&identity, dir.path())?;
            // Its records, and ours.
            run(&server, &server.address, &identity, Activity::Load(load()))?;
            if let Err(error) = (tool.prepare)(&server) {
                println!("{}: {error:#}", tool.name);
                continue;
            }
            for (what, writes) in [("reads", false), ("writes", true)] {
                self.beside_tool(tool, &server, &identity, what, writes)?;
            }
        }
        Ok(())
    }

    fn beside_tool(
        &mut self,
        tool: &Tool,
        server: &Server,
        identity: &WorkerIdentity,
        what: &str,
        writes: bool,
    ) -> anyhow::Result<()> {
        let (mut rates, mut costs, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let ours = run(server, &server.address, identity, Activity::Measure(mix(writes)))?;
            let theirs = theirs(tool, server, writes)?;
            rates.push(ours.per_s / theirs.per_s);
            costs.push(ours.client_ns / theirs.client_ns);
            own.push(ours.client_ns / 1000.0);
        }
        let (engine, peer) = (tool.engine, tool.name);
        let how = format!("{CONNECTIONS} connections, median of {REPEATS} in turns");
        self.report(&format!("{engine} client, {what}"), median(&mut own), "us/op", &how);
        self.report(&format!("{engine} {what} over {peer}'s"), median(&mut rates), "x", &how);
        let name = format!("{engine} client CPU an operation over {peer}'s, {what}");
        self.report(&name, median(&mut costs), "x", &how);
        Ok(())
    }
}

/// A server, supervised by its worker.
pub(super) struct Server {
    supervisor: process::Child,
    pub(super) address: String,
    program: PathBuf,
    dir: PathBuf,
}

impl Server {
    pub(super) fn start(identity: &WorkerIdentity, dir: &Path) -> anyhow::Result<Self> {
        let database = dir.join("database");
        std::fs::create_dir(&database)?;
        let log = std::fs::File::create(dir.join("server.txt"))?;
        let mut supervisor = Command::new(&identity.path)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let order = SupervisorOrder::Serve(ServerJob {
            database: String::new(),
            location: Location::Directory(database),
            address: None,
            options: Options::defaults(&identity.description.engine, Durability::None),
            shape: DataShape {
                records: RECORDS,
                records_max: RECORDS,
                key_bytes: 16,
                value_bytes_mean: 100,
                value_bytes_max: 100,
                sessions: 64,
                depth: 1,
                requests: None,
            },
        });
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        supervisor.stdin.as_mut().context("no pipe")?.write_all(&line)?;
        let mut event_line = String::new();
        BufReader::new(supervisor.stdout.take().context("no pipe")?).read_line(&mut event_line)?;
        let Event::Serving { address, .. } = serde_json::from_str(&event_line)? else {
            bail!("the supervisor said {event_line}");
        };
        let program = identity.library.as_ref().context("no program")?.path.clone();
        Ok(Self { supervisor, address, program, dir: dir.to_owned() })
    }

    pub(super) fn socket(&self) -> PathBuf {
        PathBuf::from(self.address.trim_start_matches("unix:"))
    }

    /// A program next to the server's, with the libraries of its packages.
    fn beside(&self, name: &str) -> anyhow::Result<Command> {
        let program = self.program.with_file_name(name);
        ensure!(program.exists(), "{} is not there", program.display());
        let mut command = Command::new(&program);
        let libraries = kvdyno_record::engine::library::bundled_library_dirs(&program);
        command.env("LD_LIBRARY_PATH", libraries.join(":")).current_dir(&self.dir);
        Ok(command)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn redis_benchmark(server: &Server) -> anyhow::Result<Command> {
    let mut command = server.beside("redis-benchmark")?;
    let records = RECORDS.to_string();
    command.arg("-s").arg(server.socket());
    command.args(["-c", "4", "--threads", "4", "-r", &records, "--csv"]);
    Ok(command)
}

fn redis(server: &Server, words: &[&str]) -> anyhow::Result<()> {
    let value = "v".repeat(100);
    let words = words.iter().map(|word| if *word == "__data__" { value.as_str() } else { *word });
    let output = redis_benchmark(server)?.args(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn postgres(server: &Server, program: &str) -> anyhow::Result<Command> {
    let socket = server.socket();
    let mut command = server.beside(program)?;
    command.arg("-h").arg(socket.parent().context("no directory")?);
    command.env("PGUSER", "kvdyno").env("PGDATABASE", "postgres");
    Ok(command)
}

pub(super) fn load() -> Load {
    Load { order: LoadOrder::Random, batch: 100, threads: 1, replay: None }
}

pub(super) fn mix(writes: bool) -> Mix {
    let mut mix = random_reads(CONNECTIONS, MEASURE_NS);
    if writes {
        mix.roles[0].mix[0].op = Op::Update;
    }
    mix
}

/// kvdyno's client, with a server at an address.
pub(super) fn run(
    server: &Server,
    address: &str,
    identity: &WorkerIdentity,
    work: Activity,
) -> anyhow::Result<Rate> {
    let evidence = tempfile::tempdir_in(&server.dir)?;
    let solo = Solo {
        worker: identity,
        options: Vec::new(),
        durability: Durability::None,
        data: small_records(RECORDS),
        phases: vec![Phase::new("phase", work)],
        location: Location::Server(address.to_owned()),
        dir: evidence.path(),
    };
    let outcomes = solo.run()?;
    let [outcome @ Outcome { finished, .. }] = &outcomes[..] else { bail!("no phase") };
    let Event::Finished { usage_before, usage, roles, .. } = finished else { bail!("no phase") };
    let operations: u64 = roles.iter().flat_map(|role| role.ops.values()).map(|op| op.count).sum();
    let spent = cpu_ns(usage) - cpu_ns(usage_before);
    Ok(Rate { per_s: items_per_s(outcome), client_ns: spent / operations.max(1) as f64 })
}

fn theirs(tool: &Tool, server: &Server, writes: bool) -> anyhow::Result<Rate> {
    let command = (tool.command)(server, writes)?;
    let begun = std::time::Instant::now();
    let mut child = Child::spawn(command, None)?;
    child.stdin = None;
    let output = io::read_to_string(child.stdout.take().context("no pipe")?)?;
    let errors = io::read_to_string(child.stderr.take().context("no pipe")?)?;
    let exit = child.wait()?;
    let seconds = begun.elapsed().as_secs_f64();
    let per_s = (tool.per_s)(&output).filter(|_| exit.is_success());
    let per_s = per_s.with_context(|| format!("{}: {output}{errors}", tool.name))?;
    Ok(Rate { per_s, client_ns: cpu_ns(&exit.usage) / (per_s * seconds) })
}

fn cpu_ns(usage: &ProcessUsage) -> f64 {
    (usage.user_ns + usage.system_ns) as f64
}
