//! `kvdyno serve`: the runs, their reports and comparisons in a browser on this machine.
//!
//! It listens on 127.0.0.1 and nowhere else, and answers from the runs folder: it has no state, and
//! changes nothing. Who may ask is decided in `guard`, what is asked in `route`, the answer is
//! made in `site`; this file moves bytes, and decides what is made when.

mod guard;
mod pages;
mod reply;
mod route;
mod shelf;
mod site;

use crate::cli::ServeArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::runner::Interrupt;
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

/// How often a wish to end is looked for.
const TICK: Duration = Duration::from_millis(100);
/// A request's head comes at once, or its connection is closed.
const PATIENCE: Duration = Duration::from_secs(30);
/// One for what takes little and one for reports, so that nobody waits for both: a run may be at
/// work beside.
const READERS: usize = 2;

/// Who waits for a reader. A client that goes is forgotten there, before anything is read for it.
struct Queues {
    site: Site,
    little: Arc<Semaphore>,
    reports: Arc<Semaphore>,
}

pub(crate) fn run(args: &ServeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let interrupt = Interrupt::listen()?;
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(READERS).enable_io().enable_time().build();
    let runtime = runtime.context("failed to start the server")?;
    let listening = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)));
    let listener = listening.map_err(|error| {
        Complaint::usage(format!("failed to listen on 127.0.0.1:{}: {error}", args.port))
            .hint("`--port 0` takes any port that is free")
    })?;
    let port = listener.local_addr()?.port();
    printer.data(&format!("http://127.0.0.1:{port}/"));
    printer.note(&format!("shows the runs in {}; Ctrl-C ends it", args.runs.runs.display()));
    let site = Site::new(args.runs.runs.clone(), port);
    let [little, reports] = [(); 2].map(|()| Arc::new(Semaphore::new(1)));
    let queues = Queues { site, little, reports };
    runtime.block_on(accept(&listener, &Arc::new(queues), &interrupt));
    // A record that is being read for nobody is not waited for.
    runtime.shutdown_background();
    Ok(Exit::Ok)
}

async fn accept(listener: &TcpListener, queues: &Arc<Queues>, interrupt: &Interrupt) {
    while !interrupt.is_requested() {
        match timeout(TICK, listener.accept()).await {
            Ok(Ok((stream, _))) => drop(tokio::spawn(converse(stream, Arc::clone(queues)))),
            // Out of descriptors, most likely: those of others come back.
            Ok(Err(_)) => sleep(TICK).await,
            Err(_) => {}
        }
    }
}

/// One connection, to its end. What goes wrong with it is between it and the browser.
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
    let asked = Arc::new(request.map(|_| ()));
    let reply = match queues.site.refusal(&asked) {
        Some(refusal) => refusal,
        None => read(&queues, &asked).await.unwrap_or_else(|| {
            let failed = StatusCode::INTERNAL_SERVER_ERROR;
            Reply::text(failed, "the answer could not be made")
        }),
    };
    Ok(reply.into_response(&queues.site.policy))
}

/// Reading a record takes a while: it is done beside, so that others are answered meanwhile. None:
/// it panicked.
async fn read(queues: &Arc<Queues>, asked: &Arc<Request<()>>) -> Option<Reply> {
    let little = beside(&queues.little, queues, asked, Site::at_hand).await?;
    match little {
        Some(reply) => Some(reply),
        None => beside(&queues.reports, queues, asked, Site::rendered).await,
    }
}

/// Has a reader do this when it is our turn. One that has begun goes on to its end, whoever goes.
async fn beside<T: Send + 'static>(
    queue: &Arc<Semaphore>,
    queues: &Arc<Queues>,
    asked: &Arc<Request<()>>,
    work: fn(&Site, &Request<()>) -> T,
) -> Option<T> {
    let turn = Arc::clone(queue).acquire_owned().await.ok()?;
    let (queues, asked) = (Arc::clone(queues), Arc::clone(asked));
    let work = move || {
        let done = work(&queues.site, &asked);
        drop(turn);
        done
    };
    tokio::task::spawn_blocking(work).await.ok()
}
