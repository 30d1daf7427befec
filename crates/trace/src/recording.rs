//! Records requests as they are made. Each thread writes its own to a temporary file without a
//! name; afterwards the files are merged into one trace by start times, in constant memory.

use super::error::TraceError;
use super::header::Header;
use super::request::{Op, Request};
use super::sorting::{reread, spool};
use super::varint;
use super::writer::TraceWriter;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

const JOINED: u8 = 0x80;

/// The recorded requests of one thread. Walks have no counterpart in a trace and are only counted.
#[derive(Debug)]
pub struct Spool {
    file: BufWriter<File>,
    /// The time of the last request.
    last_ns: u64,
    client: u32,
    walks: u64,
    /// The current request as bytes; the buffer is reused.
    bytes: Vec<u8>,
}

impl Spool {
    /// Creates the spool of the thread `client`, with its file in `dir`.
    pub fn create(dir: &Path, client: u32) -> io::Result<Self> {
        let (last_ns, walks, bytes) = (0, 0, Vec::with_capacity(64));
        Ok(Self { file: spool(dir)?, last_ns, client, walks, bytes })
    }

    /// Adds a request. Its time is by a clock that all threads share; a time before the previous
    /// request's is replaced by that. The thread's number replaces its client.
    pub fn push(&mut self, request: &Request) -> io::Result<()> {
        let at_ns = request.at_ns.max(self.last_ns);
        let bytes = &mut self.bytes;
        bytes.clear();
        varint::encode(bytes, at_ns - self.last_ns);
        bytes.push(request.op.code() | if request.joined { JOINED } else { 0 });
        varint::encode(bytes, request.key);
        varint::encode(bytes, request.key_bytes.into());
        varint::encode(bytes, request.value_bytes);
        varint::encode(bytes, request.ttl_ns);
        self.last_ns = at_ns;
        self.file.write_all(bytes)
    }

    /// Counts a walk, which a trace cannot have: it begins where the last one ended, at no key.
    pub fn leave_out_walk(&mut self) {
        self.walks += 1;
    }
}

/// Merges the requests of all threads into one trace, by their start times since the first one.
/// Requests of one call stay together; at equal times, the lower thread's come first.
pub fn merge(spools: Vec<Spool>, mut trace: TraceWriter) -> Result<Header, TraceError> {
    let writing = trace.failing();
    let walks: u64 = spools.iter().map(|spool| spool.walks).sum();
    let mut heads = BinaryHeap::with_capacity(spools.len());
    for spool in spools {
        let client = spool.client;
        let mut thread = Thread { file: reread(spool.file).map_err(&writing)?, last_ns: 0, client };
        if let Some(request) = thread.next().map_err(&writing)? {
            heads.push(Reverse(Head { request, thread }));
        }
    }
    let first_ns = heads.peek().map_or(0, |head| head.0.request.at_ns);
    while let Some(mut least) = heads.peek_mut() {
        let Head { request, thread } = &mut least.0;
        let all_read = loop {
            trace.write(Request { at_ns: request.at_ns - first_ns, ..*request })?;
            match thread.next().map_err(&writing)? {
                Some(next) => *request = next,
                None => break true,
            }
            if !request.joined {
                break false;
            }
        };
        if all_read {
            PeekMut::pop(least);
        }
    }
    if walks > 0 {
        trace.header_mut().left_out.insert("walk".to_owned(), walks);
    }
    trace.finish()
}

/// A thread's requests, read again.
struct Thread {
    file: BufReader<File>,
    last_ns: u64,
    client: u32,
}

impl Thread {
    fn next(&mut self) -> io::Result<Option<Request>> {
        let Self { file, last_ns, client } = self;
        if file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        *last_ns += varint::read(file)?;
        let mut code = [0];
        file.read_exact(&mut code)?;
        let op =
            Op::from_code(code[0] & !JOINED).ok_or_else(|| io::Error::other("no operation"))?;
        let (at_ns, joined, client) = (*last_ns, code[0] & JOINED != 0, *client);
        let key = varint::read(file)?;
        let (key_bytes, value_bytes) = (varint::read(file)? as u32, varint::read(file)?);
        let ttl_ns = varint::read(file)?;
        Ok(Some(Request { at_ns, op, joined, key, key_bytes, value_bytes, client, ttl_ns }))
    }
}

/// The next request of a thread.
struct Head {
    request: Request,
    thread: Thread,
}

impl Head {
    fn order_key(&self) -> (u64, u32) {
        (self.request.at_ns, self.thread.client)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.order_key() == other.order_key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order_key().cmp(&other.order_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Kind, Recorded, Times};
    use crate::testing::all;
    use proptest::prelude::*;

    /// Merges threads whose requests are given as (gap, whether joined, key).
    fn merged(threads: &[Vec<(u64, bool, u64)>]) -> (Header, Vec<Request>) {
        let dir = tempfile::tempdir().unwrap();
        let mut spools = Vec::new();
        for (client, rows) in (0u32..).zip(threads) {
            let mut spool = Spool::create(dir.path(), client).unwrap();
            let mut at_ns = 1_000;
            for (index, (gap, joined, key)) in rows.iter().enumerate() {
                let joined = *joined && index > 0;
                at_ns += if joined { 0 } else { *gap };
                let (op, key_bytes, value_bytes) = (Op::Put, 16, key % 300);
                let (key, client, ttl_ns) = (*key, 9, key % 5);
                let request =
                    Request { at_ns, op, joined, key, key_bytes, value_bytes, client, ttl_ns };
                spool.push(&request).unwrap();
            }
            spool.leave_out_walk();
            spools.push(spool);
        }
        let to = dir.path().join("a");
        let source = Recorded { phase: "p".into(), engine: "e".into(), records: 7 };
        let header = Header::new(Kind::Keys, source, "s", Times::Exact);
        let header = merge(spools, TraceWriter::create(&to, header).unwrap()).unwrap();
        let (read, requests) = all(&to).unwrap();
        assert_eq!(read, header);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        (header, requests)
    }

    proptest! {
        #[test]
        fn requests_of_threads_become_one_by_when_they_began(
            threads in proptest::collection::vec(
                proptest::collection::vec((0u64..5, any::<bool>(), any::<u64>()), 0..40), 0..5)
        ) {
            let (header, requests) = merged(&threads);
            let count = threads.iter().map(Vec::len).sum::<usize>();
            prop_assert_eq!((header.requests as usize, requests.len()), (count, count));
            prop_assert_eq!(header.left_out.values().sum::<u64>(), threads.len() as u64);
            prop_assert!(requests.iter().is_sorted_by_key(|request| request.at_ns));
            prop_assert!(requests.first().is_none_or(|request| request.at_ns == 0));
            for (client, rows) in (0u32..).zip(&threads) {
                let own_requests = requests.iter().filter(|request| request.client == client);
                let own_requests = own_requests.map(|one| (one.key, one.ttl_ns));
                prop_assert!(own_requests.eq(rows.iter().map(|row| (row.2, row.2 % 5))));
            }
            for pair in requests.windows(2).filter(|pair| pair[1].joined) {
                prop_assert_eq!(pair[0].client, pair[1].client);
            }
        }
    }

    #[test]
    fn of_what_began_together_the_lower_thread_comes_first() {
        let rows = || vec![(0, false, 1), (10, false, 2)];
        let (_, requests) = merged(&[rows(), rows()]);
        let places = requests.iter().map(|request| (request.at_ns, request.client));
        assert!(places.eq([(0, 0), (0, 1), (10, 0), (10, 1)]));
    }
}
