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

/// A database that could not be removed by then is left there.
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
        // Not by its host before one has answered there: that may be a password.
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
        // Its settings are fixed, others use it as well, and its memory is not this machine's.
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

/// A database that is there until this is dropped.
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

/// Makes a database on `Serve` and removes it on `Halt`, or when the input ends: its parent may
/// have been killed.
pub(crate) fn serve<E: Served>(reference: &str) -> Result<ExitCode> {
    // It outlives its parent for as long as the cleanup takes.
    set_parent_process_death_signal(None).map_err(io::Error::from)?;
    let mut ours = None;
    let done = handle_orders::<E>(reference, &mut ours);
    // A server that does not answer any more is not waited for: it may be gone.
    std::thread::spawn(|| {
        sleep(LEAVING);
        std::process::exit(1)
    });
    // Of two errors the first is the cause.
    let removed = ours.map_or(Ok(()), OwnDatabase::remove);
    match done.and(removed) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // The reader may be gone.
            let _ = send(&Event::from_error(None, &error));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn handle_orders<E: Served>(reference: &str, ours: &mut Option<OwnDatabase>) -> Result<()> {
    let orders = orders();
    let attachment = attachment::<E>()?;
    while let Ok(order) = orders.recv() {
        let begun = Instant::now();
        let took_ns = || begun.elapsed().as_nanos() as u64;
        match order? {
            SupervisorOrder::Serve(_) if ours.is_some() => {
                return Err(Error::new(ErrorClass::Other, "the database exists already"));
            }
            SupervisorOrder::Serve(job) => {
                let address = (attachment.address)(reference, &job.database)?;
                let address_text = address.to_string();
                let made = (attachment.create)(&address);
                let lost = made.as_ref().is_err_and(|error| {
                    matches!(error.class, ErrorClass::Io | ErrorClass::Unavailable)
                });
                if made.is_ok() || lost {
                    // It may exist though the answer was lost; its name is unique.
                    *ours = Some(OwnDatabase { attachment, address });
                }
                made?;
                send(&Event::Serving {
                    address: address_text,
                    command: Vec::new(),
                    took_ns: took_ns(),
                })?;
            }
            SupervisorOrder::Halt => {
                ours.take().map_or(Ok(()), OwnDatabase::remove)?;
                send(&Event::Halted { took_ns: took_ns() })?;
            }
        }
    }
    Ok(())
}
