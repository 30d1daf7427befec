//! The client: a session has a connection to each server of the cluster.

use crate::connection::{Connection, digest};
use crate::describe::description;
use crate::nodes::Nodes;
use crate::server::program;
use kvdyno_engine::server::{Address, Tickets, Wire};
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, Options, Place, Result, Session, Settled,
    Value, Write,
};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at what the servers do in the background.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What of `namespace/kv` is of the work: names that begin so.
const COUNTED: [&str; 13] = [
    "cache_read_pct",
    "client_proxy",
    "client_read",
    "client_tsvc",
    "client_write",
    "data_",
    "fail_",
    "from_proxy_read",
    "from_proxy_write",
    "index_used",
    "objects",
    "stop_writes",
    "storage-engine.",
];

/// Reads, of records that are there and of others, which the servers count apart.
pub(crate) const READS: &str = "client_read";

/// Aerospike servers, as their client has them.
pub(crate) struct Aerospike {
    nodes: Nodes,
    /// Beside those of the sessions.
    own: Mutex<Vec<Connection>>,
    flush_max: Duration,
}

impl Aerospike {
    /// What the servers count of their namespaces, together.
    fn statistics(&self) -> Result<Counters> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = Counters::new();
        for server in own.iter_mut() {
            let said = server.info("namespace/kv")?;
            for (name, value) in said.split(';').filter_map(|pair| pair.split_once('=')) {
                add(&mut counters, name, value);
            }
        }
        Ok(counters)
    }

    /// Of these, any that is not zero.
    fn at_work(&self, works: impl Fn(&str) -> bool) -> Result<Option<String>> {
        let counters = self.statistics()?;
        let busy = |value: &Value| matches!(value, Value::Integer(number) if *number > 0);
        let mut at_work = counters.into_iter().filter(|(name, value)| works(name) && busy(value));
        Ok(at_work.next().map(|(name, _)| name))
    }
}

/// Numbers of several servers add up; of anything else the first one's word stands.
fn add(counters: &mut Counters, name: &str, value: &str) {
    match (value.parse::<u64>(), counters.get_mut(name)) {
        (Ok(more), Some(Value::Integer(sum))) => *sum += more,
        (_, Some(_)) => {}
        (Ok(number), None) => {
            counters.insert(name.to_owned(), Value::Integer(number));
        }
        (Err(_), None) => {
            counters.insert(name.to_owned(), Value::Text(value.to_owned()));
        }
    }
}

impl Engine for Aerospike {
    type Session<'e> = Client<'e>;

    fn use_library(path: Option<&Path>) -> Result<()> {
        program(path).map(drop)
    }

    fn describe() -> Description {
        description(program(None))
    }

    fn open(place: &Place, options: &Options, _data: &DataShape) -> Result<Self> {
        let nodes = Nodes::of(&Address::of::<Self>(place)?)?;
        let own = nodes.addresses.iter().map(Connection::open).collect::<Result<_>>()?;
        let flush_max = Duration::from_millis(options.integer("flush_max_ms")?);
        Ok(Self { nodes, own: Mutex::new(own), flush_max })
    }

    fn session(&self) -> Result<Client<'_>> {
        let servers = self.nodes.addresses.iter().map(|address| {
            Ok(Server { connection: Connection::open(address)?, tickets: Tickets::default() })
        });
        Ok(Client { nodes: &self.nodes, servers: servers.collect::<Result<_>>()?, asked: vec![] })
    }

    /// Blocks that are to be written, or to be gathered into fewer.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let begun = Instant::now();
        loop {
            let at_work = self.at_work(|name| {
                name.ends_with(".write_q")
                    || name.ends_with(".defrag_q")
                    || name.ends_with("partitions_remaining")
            })?;
            let idle = at_work.is_none();
            let note = match at_work {
                None => "no block is to be written or defragmented".to_owned(),
                Some(work) => format!("waited for {work}"),
            };
            if idle || begun.elapsed() >= limit {
                return Ok(Settled { idle, note });
            }
            sleep(LOOK_EVERY);
        }
    }

    /// There is no command for it: what a block in memory has is written within `flush_max_ms`.
    fn sync(&self) -> Result<()> {
        sleep(self.flush_max);
        while self.at_work(|name| name.ends_with(".write_q"))?.is_some() {
            sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = self.statistics().unwrap_or_default();
        let found = ["client_read_success", "client_read_not_found"].map(|name| counters.get(name));
        let found =
            found.map(|count| if let Some(Value::Integer(count)) = count { *count } else { 0 });
        counters.insert(READS.to_owned(), Value::Integer(found.iter().sum()));
        counters.retain(|name, _| COUNTED.iter().any(|begin| name.starts_with(begin)));
        counters
    }
}

/// One thread's connections.
pub(crate) struct Client<'e> {
    nodes: &'e Nodes,
    servers: Vec<Server>,
    /// Whom each of several was asked of.
    asked: Vec<usize>,
}

struct Server {
    connection: Connection,
    tickets: Tickets,
}

impl Client<'_> {
    /// Writes down that a record is read; gives of whom.
    #[inline]
    fn get(&mut self, key: &[u8]) -> usize {
        let digest = digest(key);
        let at = self.nodes.master(&digest);
        self.servers[at].connection.get(&digest);
        at
    }

    /// Writes down that a record is written; gives of whom.
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> usize {
        let digest = digest(key);
        let at = self.nodes.master(&digest);
        self.servers[at].connection.put(&digest, value);
        at
    }

    /// Sends all that was written down.
    #[inline]
    fn send_all(&mut self) -> Result<()> {
        self.servers.iter_mut().try_for_each(|server| server.connection.wire.send())
    }
}

impl Session for Client<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], seen: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let at = self.get(key);
        let connection = &mut self.servers[at].connection;
        let value = connection.ask()?;
        Ok(seen(value.map(|range| connection.bytes(range))))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let at = self.put(key, value);
        self.servers[at].connection.ask().map(drop)
    }

    /// A record that is deleted is there again after a restart: its block is not written anew, and
    /// what would outlive that (durable deletes) this edition does not have.
    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Err(Error::unsupported("deletes that outlive a restart"))
    }

    /// Single reads that are sent together.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut seen: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        asked.extend(keys.iter().map(|key| self.get(key)));
        self.send_all()?;
        for (index, at) in asked.iter().enumerate() {
            let connection = &mut self.servers[*at].connection;
            let value = connection.answer()?;
            seen(index, value.map(|range| connection.bytes(range)));
        }
        self.asked = asked;
        Ok(())
    }

    /// Single writes that are sent together.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        for write in writes {
            match *write {
                Write::Put { key, value } => asked.push(self.put(key, value)),
                Write::Delete { key } => return self.delete(key),
            }
        }
        self.send_all()?;
        let mut failed = Ok(());
        for at in &asked {
            let connection = &mut self.servers[*at].connection;
            match connection.answer() {
                Err(error) if connection.wire.is_gone() => return Err(error),
                answer => failed = failed.and(answer.map(drop)),
            }
        }
        self.asked = asked;
        failed
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        let at = self.get(key);
        self.servers[at].tickets.take_on(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        let at = self.put(key, value);
        self.servers[at].tickets.take_on(ticket);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        self.servers.iter_mut().for_each(|server| server.tickets.sent());
        self.send_all()
    }

    /// Whoever answers first.
    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        if let [one] = self.servers.as_mut_slice() {
            return one.tickets.complete(&mut one.connection, done);
        }
        let mut count = 0;
        while count == 0 {
            let waiting = self.servers.iter_mut().filter(|server| !server.tickets.are_all_back());
            let mut waiting: Vec<&mut Server> = waiting.collect();
            if waiting.is_empty() {
                break;
            }
            let wires: Vec<&Wire> = waiting.iter().map(|server| &server.connection.wire).collect();
            let heard = Wire::heard(&wires)?;
            for (server, heard) in waiting.iter_mut().zip(heard) {
                if heard {
                    count += server.tickets.complete(&mut server.connection, &mut done)?;
                }
            }
        }
        Ok(count)
    }
}
