//! A server that kvdyno did not start, in place of one that a supervisor starts: its description,
//! and the database that kvdyno makes in it for one case.

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

/// How long the removal of a database may take; after that it is left on the server.
const LEAVING: Duration = Duration::from_secs(120);

fn attachment<E: Served>() -> Result<Attachment> {
    E::ATTACHMENT.ok_or_else(|| {
        let title = E::describe().title;
        Error::invalid(format!(
            "{title} cannot be attached: kvdyno cannot make a database of its \
            own in it"
        ))
    })
}

/// Describes the engine with the settings of that server. Nothing is changed.
pub(crate) fn describe<E: Served>(reference: &str) -> Result<ExitCode> {
    let server_description = attachment::<E>().and_then(|attachment| {
        let address = (attachment.address)(reference, "")?;
        let remote = address.attached_server();
        let host = remote.map_or_else(String::new, |remote| remote.host.clone());
        let address_text =
            remote.map_or_else(String::new, |remote| format!("{}:{}", remote.host, remote.port));
        // The error does not name the host before a server has answered: it may be a password.
        let look = (attachment.look)(&address).map_err(|error| error.context(reference))?;
        let mut engine = E::describe();
        engine.version = look.version;
        engine.build =
            BTreeMap::from([("server".to_owned(), format!("{address_text}, by {reference}"))]);
        if let Some(class) = look.durability {
            engine.capabilities.durability.retain(|other, _| *other == class);
        }
        if look.transactions {
            engine.capabilities.graph.push(Isolation::Transaction);
        }
        // The server's settings are fixed, others use it too, and its memory is on its own machine.
        engine.options.clear();
        engine.capabilities.counted.clear();
        engine.planning = Planning { space_factor: 0.0, write_factor: 0.0, ram_bytes_min: 0 };
        Ok((engine, host))
    });
    match server_description {
        Ok((engine, host)) => {
            let server = AttachedServer { reference: reference.to_owned(), host };
            crate::print_description(engine, Some(server))
        }
        Err(error) => Ok(crate::report_error(&error, ExitCode::from(crate::REFUSED))),
    }
}

/// The database that kvdyno made on the server, to be removed at the end.
struct OwnDatabase {
    attachment: Attachment,
    address: Address,
}

impl OwnDatabase {
    fn remove(self) -> Result<()> {
        (self.attachment.remove)(&self.address).map_err(|error| {
            error.context(&format!("cannot remove {}: remove it by hand", self.address))
        })
    }
}

/// Makes a database on `Serve` and removes it on `Halt`, or when the input ends: the parent process
/// may have been killed.
pub(crate) fn serve<E: Served>(reference: &str) -> Result<ExitCode> {
    // This process outlives its parent for as long as the cleanup takes.
    set_parent_process_death_signal(None).map_err(io::Error::from)?;
    let mut database = None;
    let done = handle_orders::<E>(reference, &mut database);
    // A server that does not answer any more is not waited for: it may be gone.
    std::thread::spawn(|| {
        sleep(LEAVING);
        std::process::exit(1)
    });
    // If both failed, the first error is the cause.
    let removed = database.map_or(Ok(()), OwnDatabase::remove);
    match done.and(removed) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // The reader may be gone.
            let _ = send(&Event::from_error(None, &error));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn handle_orders<E: Served>(reference: &str, database: &mut Option<OwnDatabase>) -> Result<()> {
    let orders = orders();
    let attachment = attachment::<E>()?;
    while let Ok(order) = orders.recv() {
        let begun = Instant::now();
        let took_ns = || begun.elapsed().as_nanos() as u64;
        match order? {
            SupervisorOrder::Serve(_) if database.is_some() => {
                return Err(Error::new(ErrorClass::Other, "the database exists already"));
            }
            SupervisorOrder::Serve(job) => {
                let address = (attachment.address)(reference, &job.database)?;
                let address_text = address.to_string();
                let creation = (attachment.create)(&address);
                let lost = creation.as_ref().is_err_and(|error| {
                    matches!(error.class, ErrorClass::Io | ErrorClass::Unavailable)
                });
                if creation.is_ok() || lost {
                    // It may exist though the answer was lost; its name is unique.
                    *database = Some(OwnDatabase { attachment, address });
                }
                creation?;
                send(&Event::Serving {
                    address: address_text,
                    command: Vec::new(),
                    took_ns: took_ns(),
                })?;
            }
            SupervisorOrder::Halt => {
                database.take().map_or(Ok(()), OwnDatabase::remove)?;
                send(&Event::Halted { took_ns: took_ns() })?;
            }
        }
    }
    Ok(())
}
