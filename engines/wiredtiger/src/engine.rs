//! `WiredTiger` behind the two traits.

use crate::database::{Database, c_string};
use crate::describe;
use crate::events::Checkpoints;
use crate::library;
use crate::session::WiredTigerSession;
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Location, Options, Result,
    Settled, Value,
};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// An open `WiredTiger`.
pub(crate) struct WiredTiger {
    // Before the database: its session.
    checkpoints: Checkpoints,
    database: Arc<Database>,
    durability: Durability,
    opened_with: String,
    /// Checkpoints that went over their limit: they cannot be called off.
    settling: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine for WiredTiger {
    type Session<'e> = WiredTigerSession<'e>;

    fn use_library(path: Option<&Path>) -> Result<()> {
        library::load(path).map(drop)
    }

    fn describe() -> Description {
        describe::description(library::load(None))
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let api = &library::load(None)?.api;
        let opened_with = describe::open_config(options, data)?;
        let (name, config) = (options.text("table")?, describe::table_config(options)?);
        let database = Database::open(api, location.directory()?, &opened_with, name, &config)?;
        Ok(Self {
            checkpoints: Checkpoints::watch(&database)?,
            database: Arc::new(database),
            durability: options.durability,
            opened_with,
            settling: Mutex::default(),
        })
    }

    fn session(&self) -> Result<WiredTigerSession<'_>> {
        WiredTigerSession::new(&self.database)
    }

    /// A checkpoint writes dirty pages. It has no limit, so it runs in its own thread, and
    /// continues in the background if it exceeds ours.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let (done, ended) = channel();
        let database = Arc::clone(&self.database);
        let thread = std::thread::Builder::new().name("wt-settle".to_owned());
        let checkpoint = thread.spawn(move || {
            let checkpointed = database.session().and_then(|session| session.checkpoint());
            drop(database);
            // The receiver waits below or has given up; either way nothing is lost.
            let _ = done.send(checkpointed);
        })?;
        let note = "WT_SESSION::checkpoint".to_owned();
        if let Ok(checkpointed) = ended.recv_timeout(limit) {
            // It ends after this message; a panic would have been printed.
            let _ = checkpoint.join();
            return checkpointed.map(|()| Settled { idle: true, note });
        }
        if let Ok(mut settling) = self.settling.lock() {
            settling.push(checkpoint);
        }
        Ok(Settled { idle: false, note })
    }

    /// Without a log only a checkpoint is durable.
    fn sync(&self) -> Result<()> {
        let session = self.database.session()?;
        match self.durability {
            Durability::None => session.checkpoint(),
            Durability::Async | Durability::Commit => session.log_flush(),
        }
    }

    fn close(self) -> Result<()> {
        // Sessions end before their connection.
        for checkpoint in self.settling.into_inner().unwrap_or_default() {
            let _ = checkpoint.join();
        }
        drop(self.checkpoints);
        Arc::into_inner(self.database).map_or(Ok(()), Database::close)
    }

    /// `WiredTiger` reports the whole configuration of the table. For the database it reports only
    /// statistics, so `wiredtiger_open` is the string that was passed.
    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        let mut text = |name: &str, text: String| {
            counters.insert(name.to_owned(), Value::Text(text));
        };
        text("wiredtiger_open", self.opened_with.clone());
        let Ok(session) = self.database.session() else { return counters };
        let table = self.database.table().to_string_lossy();
        let name = table.trim_start_matches("table:");
        let parts = [format!("colgroup:{name}"), format!("file:{name}.wt"), format!("lsm:{name}")];
        for uri in std::iter::once(table.to_string()).chain(parts) {
            if let Ok(Some(config)) = c_string(&uri).and_then(|uri| session.metadata(&uri)) {
                text(&format!("metadata {uri}"), config);
            }
        }
        let main = |name: &str| KINDS.contains(&name.split(':').next().unwrap_or_default());
        let statistics = session.statistics().unwrap_or_default();
        let statistics = statistics.into_iter().filter(|(name, _)| main(name));
        let whole = |value| u64::try_from(value).map_or(Value::Number(value as f64), Value::from);
        counters.extend(statistics.map(|(name, value)| (name, whole(value))));
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.checkpoints.drain()
    }
}

/// The statistics that are kept; the others are of features that are not used here.
const KINDS: [&str; 10] = [
    "LSM",
    "block-manager",
    "cache",
    "checkpoint",
    "connection",
    "cursor",
    "log",
    "reconciliation",
    "thread-yield",
    "transaction",
];
