//! A server that somebody runs, in the place of one that a supervisor starts: what it says of
//! itself, and the database in it that is ours for one case.

use crate::output::send;
use crate::supervisor::orders;
use kvdyno_engine::graph::Isolation;
use kvdyno_engine::server::{Address, Attachment, Served};
use kvdyno_engine::{Error, ErrorClass, Planning, Result};
use kvdyno_record::protocol::{AttachedServer, Event, SupervisorOrder};
use rustix::process::set_parent_process_death_signal;
use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A database that could not be removed by then is left there.
const LEAVING: Duration = Duration::from_secs(120);

fn attachment<E: Served>() -> Result<Attachment> {
    E::ATTACHMENT.ok_or_else(|| {
        let title = E::describe().title;
        Error::invalid(format!("{title} cannot be attached: it has no database for us alone"))
    })
}

/// Describes the engine as that server is. It is asked, and nothing is changed.
pub(crate) fn describe<E: Served>(reference: &str) -> Result<ExitCode> {
    let told = attachment::<E>().and_then(|attachment| {
        let address = (attachment.address)(reference, "")?;
        let there = address.elsewhere();
        let host = there.map_or_else(String::new, |there| there.host.clone());
        let at = there.map_or_else(String::new, |there| format!("{}:{}", there.host, there.port));
        // Not by its host before one has answered there: that may be a password.
        let look = (attachment.look)(&address).map_err(|error| error.context(reference))?;
        let mut engine = E::describe();
        engine.version = look.version;
        engine.build = BTreeMap::from([("server".to_owned(), format!("{at}, by {reference}"))]);
        if let Some(class) = look.durability {
            engine.capabilities.durability.retain(|known, _| *known == class);
        }
        if look.transactions {
            engine.capabilities.graph.push(Isolation::Transaction);
        }
        // It is set up as it is, others ask it as well, and what it needs is not had here.
        engine.options.clear();
        engine.capabilities.counted.clear();
        engine.planning = Planning { space_factor: 0.0, write_factor: 0.0, ram_bytes_min: 0 };
        Ok((engine, host))
    });
    match told {
        Ok((engine, host)) => {
            let server = AttachedServer { reference: reference.to_owned(), host };
            crate::described(engine, Some(server))
        }
        Err(error) => Ok(crate::complain(&error, ExitCode::from(crate::REFUSED))),
    }
}

/// A database that is there until this is dropped.
struct Ours {
    attachment: Attachment,
    address: Address,
}

impl Ours {
    fn remove(self) -> Result<()> {
        (self.attachment.remove)(&self.address).map_err(|error| {
            error.context(&format!("{} could not be removed, and is left there", self.address))
        })
    }
}

/// Makes a database when it is told to serve, and takes it away when it is told to halt, or when
/// nothing more is to come: whoever tells it may have been killed.
pub(crate) fn serve<E: Served>(reference: &str) -> Result<ExitCode> {
    // It outlives whoever started it, for as long as it takes to clean up.
    set_parent_process_death_signal(None).map_err(io::Error::from)?;
    let mut ours = None;
    let done = obey::<E>(reference, &mut ours);
    // A server that does not answer any more is not waited for: nobody may be there who would.
    std::thread::spawn(|| {
        sleep(LEAVING);
        std::process::exit(1)
    });
    // Of two errors the first is the cause.
    let left = ours.map_or(Ok(()), Ours::remove);
    match done.and(left) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // Nobody may be there to hear it.
            let _ = send(&Event::failed(None, &error));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn obey<E: Served>(reference: &str, ours: &mut Option<Ours>) -> Result<()> {
    let orders = orders();
    let attachment = attachment::<E>()?;
    while let Ok(order) = orders.recv() {
        let begun = Instant::now();
        let took_ns = || begun.elapsed().as_nanos() as u64;
        match order? {
            SupervisorOrder::Serve(_) if ours.is_some() => {
                return Err(Error::new(ErrorClass::Other, "there is a database already"));
            }
            SupervisorOrder::Serve(job) => {
                let address = (attachment.address)(reference, &job.database)?;
                let told = address.to_string();
                let made = (attachment.create)(&address);
                let lost = made.as_ref().is_err_and(|error| {
                    matches!(error.class, ErrorClass::Io | ErrorClass::Unavailable)
                });
                if made.is_ok() || lost {
                    // It may be there, though nobody heard so; nobody else's has its name.
                    *ours = Some(Ours { attachment, address });
                }
                made?;
                send(&Event::Serving { address: told, command: Vec::new(), took_ns: took_ns() })?;
            }
            SupervisorOrder::Halt => {
                ours.take().map_or(Ok(()), Ours::remove)?;
                send(&Event::Halted { took_ns: took_ns() })?;
            }
        }
    }
    Ok(())
}
