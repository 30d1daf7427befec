//! The client: a session has a connection to each server of the cluster.

use crate::connection::{Connection, digest};
use crate::describe::description;
use crate::nodes::Nodes;
use crate::server::PROGRAM;
use kvdyno_engine::server::{Address, Answers as _, ControlConnection, Tickets, Wire};
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, ErrorClass, Location, Options, Result,
    Session, Settled, Value, Write,
};
use std::thread::sleep;
use std::time::Duration;

/// The most attempts at a write that a server is too busy for.
const TRIES: u32 = 10_000;

const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// The prefixes of the names in `namespace/kv` that describe the work.
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

/// The counter of all reads; the servers count reads of existing and of missing records apart.
pub(crate) const READS: &str = "client_read";

/// Aerospike servers, as seen by the client.
pub(crate) struct Aerospike {
    nodes: Nodes,
    control: ControlConnection<Vec<Connection>>,
    flush_max: Duration,
}

impl Aerospike {
    /// Returns the counters of all servers' namespaces, summed.
    fn statistics(&self) -> Result<Counters> {
        let mut control = self.control.lock();
        let mut counters = Counters::new();
        for server in control.iter_mut() {
            let reply = server.info("namespace/kv")?;
            for (name, value) in reply.split(';').filter_map(|pair| pair.split_once('=')) {
                add(&mut counters, name, value);
            }
        }
        Ok(counters)
    }

    /// Returns a counter that `works` accepts and that is not zero, if there is one.
    fn find_busy_counter(&self, works: impl Fn(&str) -> bool) -> Result<Option<String>> {
        let counters = self.statistics()?;
        let busy = |value: &Value| matches!(value, Value::Integer(number) if *number > 0);
        let mut at_work = counters.into_iter().filter(|(name, value)| works(name) && busy(value));
        Ok(at_work.next().map(|(name, _)| name))
    }
}

/// Sums the numbers of several servers. For text, the first server's value is kept.
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

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let nodes = Nodes::connect(&Address::from_location::<Self>(location)?)?;
        let control = nodes.addresses.iter().map(Connection::open).collect::<Result<_>>()?;
        let flush_max = Duration::from_millis(options.integer("flush_max_ms")?.max(1));
        Ok(Self { nodes, control: ControlConnection::new(control), flush_max })
    }

    fn session(&self) -> Result<Client<'_>> {
        let servers = self.nodes.addresses.iter().map(|address| {
            Ok(Server { connection: Connection::open(address)?, tickets: Tickets::default() })
        });
        Ok(Client {
            nodes: &self.nodes,
            servers: servers.collect::<Result<_>>()?,
            nodes_asked: vec![],
        })
    }

    /// Waits while blocks are to be written, or to be merged into fewer.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let works = [".write_q", ".defrag_q", "partitions_remaining"];
        Settled::poll(limit, "no block is to be written or defragmented", || {
            self.find_busy_counter(|name| works.iter().any(|work| name.ends_with(work)))
        })
    }

    /// Waits, because there is no command for it: a block in memory is written within
    /// `flush_max_ms`, which may have begun just before. Without `direct_files` it is then in the
    /// page cache.
    fn sync(&self) -> Result<()> {
        sleep(2 * self.flush_max);
        Settled::poll(Duration::MAX, "", || {
            self.find_busy_counter(|name| name.ends_with(".write_q"))
        })?;
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = self.statistics().unwrap_or_default();
        let sums = ["client_read_success", "client_read_not_found"].map(|name| counters.get(name));
        let sums =
            sums.map(|count| if let Some(Value::Integer(count)) = count { *count } else { 0 });
        counters.insert(READS.to_owned(), Value::Integer(sums.iter().sum()));
        counters.retain(|name, _| COUNTED.iter().any(|begin| name.starts_with(begin)));
        counters
    }
}

/// One thread's connections.
pub(crate) struct Client<'e> {
    nodes: &'e Nodes,
    servers: Vec<Server>,
    /// The server of each key in a multiget or batch.
    nodes_asked: Vec<usize>,
}

struct Server {
    connection: Connection,
    tickets: Tickets,
}

fn is_refused(answer: &Result<()>) -> bool {
    answer.as_ref().is_err_and(|error| error.class == ErrorClass::Conflict)
}

impl Client<'_> {
    /// Queues the read of a record. Returns its server's index.
    #[inline]
    fn get(&mut self, key: &[u8]) -> usize {
        let digest = digest(key);
        let node = self.nodes.master(&digest);
        self.servers[node].connection.get(&digest);
        node
    }

    /// Queues the write of a record. Returns its server's index.
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> usize {
        let digest = digest(key);
        let node = self.nodes.master(&digest);
        self.servers[node].connection.put(&digest, value);
        node
    }

    /// Sends all queued messages.
    #[inline]
    fn send_all(&mut self) -> Result<()> {
        self.servers.iter_mut().try_for_each(|server| server.connection.wire.send())
    }

    /// Performs writes once. Leaves in `writes` those to retry.
    fn write_once(&mut self, writes: &mut Vec<&Write<'_>>) -> Result<()> {
        let mut nodes = std::mem::take(&mut self.nodes_asked);
        nodes.clear();
        let values = writes.iter().map(|write| (write.key(), write.value().unwrap_or_default()));
        nodes.extend(values.map(|(key, value)| self.put(key, value)));
        self.send_all()?;
        let (mut failed, mut refused) = (Ok(()), Vec::new());
        for (write, node) in writes.iter().zip(&nodes) {
            let connection = &mut self.servers[*node].connection;
            match connection.answer() {
                // The same key was refused before: the last write wins.
                Ok(_) if refused.iter().any(|one: &&Write<'_>| one.key() == write.key()) => {
                    refused.push(*write);
                }
                Ok(_) => {}
                Err(error) if connection.wire.is_gone() => return Err(error),
                Err(error) if error.class == ErrorClass::Conflict => refused.push(*write),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        *writes = refused;
        self.nodes_asked = nodes;
        failed
    }
}

impl Session for Client<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let node = self.get(key);
        let connection = &mut self.servers[node].connection;
        let value = connection.ask()?;
        Ok(visit(value.map(|range| connection.bytes(range))))
    }

    /// Puts a record. A put that a server is too busy for is sent again, within its measured time.
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut node = self.put(key, value);
        let mut answer = self.servers[node].connection.ask().map(drop);
        let mut tries = 1;
        while tries < TRIES && is_refused(&answer) {
            sleep(TRIED_AGAIN_AFTER);
            node = self.put(key, value);
            answer = self.servers[node].connection.ask().map(drop);
            tries += 1;
        }
        match answer {
            Err(error) if error.class == ErrorClass::Conflict => {
                let what = format!("refused {TRIES} times: {}", error.message);
                Err(Error::new(ErrorClass::Unavailable, what))
            }
            answer => answer,
        }
    }

    /// Fails: deleted records return after a restart, because their blocks are not rewritten.
    /// Durable deletes need the Enterprise Edition.
    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Err(Error::unsupported("deletes that outlive a restart"))
    }

    /// Sends single reads together.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let mut nodes = std::mem::take(&mut self.nodes_asked);
        nodes.clear();
        nodes.extend(keys.iter().map(|key| self.get(key)));
        self.send_all()?;
        let mut failed = Ok(());
        for (index, node) in nodes.iter().enumerate() {
            let connection = &mut self.servers[*node].connection;
            match connection.answer() {
                Ok(value) => visit(index, value.map(|range| connection.bytes(range))),
                Err(error) if connection.wire.is_gone() => return Err(error),
                // The other answers are still to come.
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        self.nodes_asked = nodes;
        failed
    }

    /// Sends single writes together. Writes that a server is too busy for are sent again.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        if let Some(Write::Delete { key }) =
            writes.iter().find(|write| matches!(write, Write::Delete { .. }))
        {
            return self.delete(key);
        }
        let mut pending: Vec<&Write<'_>> = writes.iter().collect();
        for _ in 0..TRIES {
            self.write_once(&mut pending)?;
            if pending.is_empty() {
                return Ok(());
            }
            sleep(TRIED_AGAIN_AFTER);
        }
        let what = format!("{} writes of a batch failed {TRIES} times", pending.len());
        Err(Error::new(ErrorClass::Unavailable, what))
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        let node = self.get(key);
        self.servers[node].tickets.push(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        let node = self.put(key, value);
        self.servers[node].tickets.push(ticket);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        self.servers.iter_mut().for_each(|server| server.tickets.mark_sent());
        self.send_all()
    }

    /// Completes the operations of the servers that have an answer.
    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        if let [server] = self.servers.as_mut_slice() {
            return server.tickets.complete(&mut server.connection, done);
        }
        let mut count = 0;
        while count == 0 {
            let waiting = self.servers.iter_mut().filter(|server| !server.tickets.are_all_back());
            let mut waiting: Vec<&mut Server> = waiting.collect();
            if waiting.is_empty() {
                break;
            }
            let wires: Vec<&Wire> = waiting.iter().map(|server| &server.connection.wire).collect();
            let readable = Wire::wait_readable(&wires)?;
            for (server, readable) in waiting.iter_mut().zip(readable) {
                if readable {
                    count += server.tickets.complete(&mut server.connection, &mut done)?;
                }
            }
        }
        Ok(count)
    }
}
