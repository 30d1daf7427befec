//! `kvdyno serve`: the runs, their reports and comparisons in a browser on this machine.
//!
//! It listens only on 127.0.0.1, and replies from the directory of runs: it has no state, and
//! changes nothing. `guard` decides who may ask, `route` parses the request, `site` makes the
//! reply. This file moves bytes and schedules the work.

mod guard;
mod list;
mod pages;
mod reply;
mod route;
mod site;

use crate::cli::ServeArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::runner::Interrupt;
use anyhow::Context as _;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use kvdyno_record::exit::Exit;
use reply::Reply;
use site::Site;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Interval of checks for an interrupt.
const TICK: Duration = Duration::from_millis(100);
/// A connection that does not send a request's head in this time is closed.
const PATIENCE: Duration = Duration::from_secs(30);
/// One reader for quick replies and one for reports, so that neither waits for the other. Only one
/// of each: a run may be in progress.
const READERS: usize = 2;

/// Requests that wait for a reader. A client that disconnects is dropped here, before anything is
/// read for it.
struct Queues {
    site: Site,
    little: Arc<Semaphore>,
    reports: Arc<Semaphore>,
}

pub(crate) fn run(args: &ServeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let runs = &args.runs.runs;
    if !runs.is_dir() {
        let what = format!("--runs {}: there is no such directory", runs.display());
        let hint = "name the directory of runs; `kvdyno run` creates it";
        return Err(Complaint::usage(what).hint(hint).into());
    }
    let interrupt = Interrupt::listen()?;
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(READERS).enable_io().enable_time().build();
    let runtime = runtime.context("failed to start the server")?;
    let listening = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)));
    let listener = listening.map_err(|error| {
        Complaint::usage(format!("failed to listen on 127.0.0.1:{}: {error}", args.port))
            .hint("use `--port 0` for any free port")
    })?;
    let port = listener.local_addr()?.port();
    printer.data(&format!("http://127.0.0.1:{port}/"));
    printer.note(&format!("shows the runs in {}; Ctrl-C ends it", runs.display()));
    let site = Site::new(runs.clone(), port);
    let [little, reports] = [(); 2].map(|()| Arc::new(Semaphore::new(1)));
    let queues = Queues { site, little, reports };
    runtime.block_on(accept(&listener, &Arc::new(queues), &interrupt));
    // Does not wait for a record that is read for a client that has disconnected.
    runtime.shutdown_background();
    Ok(Exit::Ok)
}

async fn accept(listener: &TcpListener, queues: &Arc<Queues>, interrupt: &Interrupt) {
    while !interrupt.is_requested() {
        match timeout(TICK, listener.accept()).await {
            Ok(Ok((stream, _))) => drop(tokio::spawn(converse(stream, Arc::clone(queues)))),
            // Probably out of descriptors: other connections will close.
            Ok(Err(_)) => sleep(TICK).await,
            Err(_) => {}
        }
    }
}

/// Serves one connection to its end. Its errors concern only the browser.
async fn converse(stream: TcpStream, queues: Arc<Queues>) {
    let service = service_fn(move |request| answer(request, Arc::clone(&queues)));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    queues: Arc<Queues>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let request = Arc::new(request.map(|_| ()));
    let reply = match queues.site.refusal(&request) {
        Some(refusal) => refusal,
        None => read(&queues, &request).await.unwrap_or_else(|| {
            let failed = StatusCode::INTERNAL_SERVER_ERROR;
            Reply::text(failed, "cannot make the reply")
        }),
    };
    Ok(reply.into_response(&queues.site.policy))
}

/// Makes a reply on another thread: reading a record takes a while, and other requests get replies
/// meanwhile. None: that thread panicked.
async fn read(queues: &Arc<Queues>, request: &Arc<Request<()>>) -> Option<Reply> {
    let quick = read_queued(&queues.little, queues, request, Site::quick_reply).await?;
    match quick {
        Some(reply) => Some(reply),
        None => read_queued(&queues.reports, queues, request, Site::render_reply).await,
    }
}

/// Runs `work` on a reader when its turn comes. Started work runs to its end, even if the client
/// disconnects.
async fn read_queued<T: Send + 'static>(
    queue: &Arc<Semaphore>,
    queues: &Arc<Queues>,
    request: &Arc<Request<()>>,
    work: fn(&Site, &Request<()>) -> T,
) -> Option<T> {
    let turn = Arc::clone(queue).acquire_owned().await.ok()?;
    let (queues, request) = (Arc::clone(queues), Arc::clone(request));
    let work = move || {
        let done = work(&queues.site, &request);
        drop(turn);
        done
    };
    tokio::task::spawn_blocking(work).await.ok()
}
