//! The cost of a server's client alone: the server's replies are canned. A responder between both
//! forwards the first requests of a connection, and then repeats the last reply to every request.
//! For comparison, a bare loop sends the same request and reads the same reply, which is the
//! kernel's part.

use super::servers::{CONNECTIONS, Server, load, mix, run};
use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::Context as _;
use kvdyno_record::workload::Activity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const ENGINES: [&str; 4] = ["redis", "memcached", "postgres", "mariadb"];

/// This many requests of a connection reach the server.
const LEARNS: u32 = 1000;

const CHUNK_BYTES: usize = 64 << 10;

const BARE: Duration = Duration::from_nanos(SECOND);

/// A request and its reply.
#[derive(Clone, Default)]
struct Exchange {
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Bench {
    pub(crate) fn clients(&mut self) -> anyhow::Result<()> {
        for engine in ENGINES {
            let Ok(identity) = identity(engine) else {
                println!("{engine}: not built, or `kvdyno engines get` was not done");
                continue;
            };
            let dir = scratch()?;
            let server = Server::start(&identity, dir.path())?;
            run(&server, &server.address, &identity, Activity::Load(load()))?;
            for (what, writes) in [("reads", false), ("writes", true)] {
                let (mut costs, mut ratios) = (Vec::new(), Vec::new());
                for repeat in 0..REPEATS {
                    let socket = dir.path().join(format!("{what}{repeat}"));
                    let learned = respond(&socket, server.socket())?;
                    let address = format!("unix:{}", socket.display());
                    let work = Activity::Measure(mix(writes));
                    let ours = run(&server, &address, &identity, work)?.client_ns;
                    let exchange = learned.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    costs.push(ours / 1000.0);
                    ratios.push(ours / bare(&exchange)?);
                }
                let how = format!("answers canned, {CONNECTIONS} connections, median of {REPEATS}");
                self.report(&format!("{engine} client, {what}"), median(&mut costs), "us/op", &how);
                let name = format!("{engine} client CPU over a bare loop's, {what}");
                self.report(&name, median(&mut ratios), "x", &how);
            }
        }
        Ok(())
    }
}

/// Listens at `socket` in front of a server; returns the last request and reply.
fn respond(socket: &Path, server: PathBuf) -> anyhow::Result<Arc<Mutex<Exchange>>> {
    let learned = Arc::new(Mutex::new(Exchange::default()));
    let (listener, kept) = (UnixListener::bind(socket)?, Arc::clone(&learned));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, kept) = (server.clone(), Arc::clone(&kept));
            // When one side ends, the connection ends.
            thread::spawn(move || pass(client, &server, &kept));
        }
    });
    Ok(learned)
}

fn pass(mut client: UnixStream, server: &Path, learned: &Mutex<Exchange>) -> io::Result<()> {
    let mut server = UnixStream::connect(server)?;
    let (mut chunk, mut last) = (vec![0; CHUNK_BYTES], Exchange::default());
    let mut asked = 0;
    while asked < LEARNS {
        let mut ready =
            [&client, &server].map(|socket| PollFd::new(socket, PollFlags::IN | PollFlags::HUP));
        poll(&mut ready, None)?;
        let [from_client, from_server] = ready.map(|socket| !socket.revents().is_empty());
        // Read the server first: its message belongs to the previous request.
        if from_server {
            let read = server.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            last.answer.extend_from_slice(&chunk[..read]);
            client.write_all(&chunk[..read])?;
        } else if from_client {
            let read = client.read(&mut chunk)?;
            asked += 1;
            if read == 0 {
                return Ok(());
            }
            if asked < LEARNS {
                last = Exchange { request: chunk[..read].to_vec(), answer: Vec::new() };
                server.write_all(&chunk[..read])?;
            }
        }
    }
    learned.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&last);
    loop {
        client.write_all(&last.answer)?;
        // Requests of the same length are repeated; another length is the end of the session.
        if client.read(&mut chunk)? != last.request.len() {
            return Ok(());
        }
    }
}

/// CPU time in nanoseconds of the same exchange in a bare loop.
fn bare(exchange: &Exchange) -> anyhow::Result<f64> {
    let loops: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let exchange = exchange.clone();
            thread::spawn(move || replay_exchange(&exchange))
        })
        .collect();
    let (mut spent, mut count) = (0, 0);
    for one in loops {
        let (cpu_ns, times) = one.join().ok().context("a loop that panicked")??;
        spent += cpu_ns;
        count += times;
    }
    Ok(spent as f64 / count.max(1) as f64)
}

/// Its CPU time, and the number of exchanges.
fn replay_exchange(exchange: &Exchange) -> io::Result<(i64, u64)> {
    let (mut client, mut server) = UnixStream::pair()?;
    let answer = exchange.answer.clone();
    thread::spawn(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        while server.read(&mut chunk).is_ok_and(|read| read > 0) {
            if server.write_all(&answer).is_err() {
                return;
            }
        }
    });
    let cpu_ns = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec * SECOND as i64 + time.tv_nsec
    };
    let (begun, before, mut times) = (Instant::now(), cpu_ns(), 0);
    let mut answer = vec![0; exchange.answer.len()];
    while begun.elapsed() < BARE {
        client.write_all(&exchange.request)?;
        client.read_exact(&mut answer)?;
        times += 1;
    }
    Ok((cpu_ns() - before, times))
}
