//! Clients that share one thread. Each waits for its own answers on its own connections
//! and is written as if it owned the thread; while one waits, another runs. A thread that sleeps
//! costs two context switches per answer, which is more than all other work of a client.
//!
//! Outside of [`run_clients`] a wait puts the thread to sleep.

use crate::Result;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Answer,
    Until(Instant),
}

type Turn = Yielder<(), Wait>;

/// The client whose turn it is.
#[derive(Clone)]
struct AtWork {
    client: u64,
    turn: *const Turn,
    group: Rc<Group>,
}

/// The clients that share a thread, and the epoll instance that they wait with.
struct Group {
    epoll: OwnedFd,
    /// The number that no other group has, by which connections remember their group.
    number: u64,
}

thread_local! {
    static AT_WORK: RefCell<Option<AtWork>> = const { RefCell::new(None) };
}

/// The group that a connection is registered with.
#[derive(Debug, Default)]
pub(super) struct Known(u64);

/// Runs other clients of this thread until an answer arrives.
#[inline]
pub(super) fn wait_for_answer(socket: BorrowedFd<'_>, registered: &mut Known) -> Result<()> {
    let Some(at_work) = current_client() else { return Ok(()) };
    let AtWork { client, group, .. } = &at_work;
    if registered.0 != group.number {
        let data = epoll::EventData::new_u64(*client);
        let added = epoll::add(&group.epoll, socket, data, epoll::EventFlags::IN);
        added.map_err(io::Error::from)?;
        registered.0 = group.number;
    }
    suspend(&at_work, Wait::Answer);
    Ok(())
}

/// Whether other clients share this thread. A sleep other than [`pause`] blocks them.
pub fn is_shared() -> bool {
    current_client().is_some()
}

/// Pauses this client; others on this thread run meanwhile.
pub fn pause(time: Duration) {
    match current_client() {
        Some(at_work) => suspend(&at_work, Wait::Until(Instant::now() + time)),
        None if time.is_zero() => std::thread::yield_now(),
        None => std::thread::sleep(time),
    }
}

#[inline]
fn current_client() -> Option<AtWork> {
    AT_WORK.with_borrow(Option::clone)
}

#[inline]
#[expect(unsafe_code, reason = "whose turn it is cannot be lent through a thread's own variable")]
fn suspend(at_work: &AtWork, wait: Wait) {
    // SAFETY: it is this client's turn, so it runs on the stack that its yielder belongs to, which
    // is there until the client has ended.
    unsafe { (*at_work.turn).suspend(wait) };
}

/// A client and its state.
struct Client<T> {
    work: Coroutine<(), Wait, T, DefaultStack>,
    /// The coroutine's yielder; null: the client has not begun.
    turn: Rc<Cell<*const Turn>>,
    wait: Option<Wait>,
    done: Option<T>,
}

/// Runs `clients` side by side on this thread until all have ended. Returns their results.
pub fn run_clients<'c, T: 'c>(
    clients: impl IntoIterator<Item = impl FnOnce() -> T + 'c>,
) -> io::Result<Vec<T>> {
    static GROUPS: AtomicU64 = AtomicU64::new(1);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let group = Rc::new(Group { epoll, number: GROUPS.fetch_add(1, Relaxed) });
    let clients = clients.into_iter().map(Client::new).collect::<io::Result<Vec<_>>>()?;
    let mut turns = Turns { clients, group, ready: VecDeque::new() };
    turns.ready.extend(0..turns.clients.len());
    turns.go_round()?;
    Ok(turns.clients.into_iter().filter_map(|client| client.done).collect())
}

impl<T> Client<T> {
    #[expect(unsafe_code, reason = "what it works on need not live for ever")]
    fn new<'c>(work: impl FnOnce() -> T + 'c) -> io::Result<Self> {
        let turn = Rc::new(Cell::new(std::ptr::null()));
        let yielder_slot = turn.clone();
        // The coroutine's stack gets a pointer only.
        let work = Box::new(work);
        let work = move |yielder: &Turn, ()| {
            yielder_slot.set(yielder);
            AT_WORK.with_borrow_mut(|at_work| {
                at_work.as_mut().expect("it was resumed").turn = yielder;
            });
            work()
        };
        let stack = DefaultStack::new(STACK_BYTES)?;
        // SAFETY: `run_clients` has all clients end, or drops them, before it returns; what they
        // borrow outlives its call.
        let work = unsafe { Coroutine::with_stack_unchecked(stack, work) };
        Ok(Self { work, turn, wait: None, done: None })
    }
}

/// The size of a client's stack, as large as a thread's. Memory is allocated as it is used.
const STACK_BYTES: usize = 2 << 20;

/// The most events of one poll.
const EVENTS_MAX: usize = 64;

struct Turns<T> {
    clients: Vec<Client<T>>,
    group: Rc<Group>,
    ready: VecDeque<usize>,
}

impl<T> Turns<T> {
    fn go_round(&mut self) -> io::Result<()> {
        loop {
            while let Some(client) = self.ready.pop_front() {
                self.resume(client);
            }
            if self.clients.iter().all(|client| client.done.is_some()) {
                return Ok(());
            }
            self.wait()?;
        }
    }

    fn resume(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let (turn, group) = (client.turn.get(), self.group.clone());
        AT_WORK.set(Some(AtWork { client: index as u64, turn, group }));
        // Dropped at the end, also when a panic continues from here: no client has the turn then.
        let _nobody = Nobody;
        match client.work.resume(()) {
            CoroutineResult::Yield(wait) => client.wait = Some(wait),
            CoroutineResult::Return(done) => client.done = Some(done),
        }
    }

    /// Waits for the first answer, or the end of the first pause.
    fn wait(&mut self) -> io::Result<()> {
        let pauses = self.clients.iter().filter_map(|client| match client.wait {
            Some(Wait::Until(end)) => Some(end),
            _ => None,
        });
        let longest = pauses.min().map(|end| {
            let remaining = end.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: remaining.as_secs() as i64,
                tv_nsec: remaining.subsec_nanos().into(),
            }
        });
        // `poll` takes nanoseconds; epoll_wait(2) takes milliseconds.
        if let Some(longest) = &longest {
            let mut ready = [PollFd::new(&self.group.epoll, PollFlags::IN)];
            match poll(&mut ready, Some(longest)) {
                Err(Errno::INTR) => {}
                other => drop(other?),
            }
        }
        let at_once = longest.map(|_| Timespec { tv_sec: 0, tv_nsec: 0 });
        let (flags, data) = (epoll::EventFlags::empty(), epoll::EventData::new_u64(0));
        let mut events = [epoll::Event { flags, data }; EVENTS_MAX];
        let count = match epoll::wait(&self.group.epoll, &mut events, at_once.as_ref()) {
            Err(Errno::INTR) => 0,
            other => other?,
        };
        for event in &events[..count] {
            self.end_wait(event.data.u64() as usize, |wait| wait == Wait::Answer);
        }
        if longest.is_some() {
            let now = Instant::now();
            for index in 0..self.clients.len() {
                self.end_wait(index, |wait| matches!(wait, Wait::Until(end) if end <= now));
            }
        }
        Ok(())
    }

    /// Marks a client as ready if it waits for what has come.
    fn end_wait(&mut self, index: usize, has_come: impl FnOnce(Wait) -> bool) {
        let wait = &mut self.clients[index].wait;
        if wait.is_some_and(has_come) {
            *wait = None;
            self.ready.push_back(index);
        }
    }
}

struct Nobody;

impl Drop for Nobody {
    fn drop(&mut self) {
        AT_WORK.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Stream, Wire};
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn connected(count: usize) -> (Vec<Wire>, Vec<UnixStream>) {
        let pairs = (0..count).map(|_| UnixStream::pair().unwrap());
        pairs.map(|(client, server)| (Wire::new(Stream::Unix(client)), server)).unzip()
    }

    /// Sends one byte, and returns the one that comes back.
    fn ask(wire: &mut Wire, byte: u8) -> u8 {
        wire.out.push(byte);
        wire.send().unwrap();
        wire.receive().unwrap();
        let (begin, answer) = wire.unread_bytes();
        let answer = answer[0];
        wire.read_to(begin + 1);
        wire.discard_parsed();
        answer
    }

    /// The server answers after all requests have arrived, the last first. Clients that waited for
    /// each other would deadlock.
    #[test]
    fn each_waits_for_its_own_answers_and_keeps_nobody() {
        const CLIENTS: usize = 5;
        const ROUNDS: u8 = 20;
        let (wires, mut servers) = connected(CLIENTS);
        let server = std::thread::spawn(move || {
            for _ in 0..ROUNDS {
                let mut requests = [0; CLIENTS];
                for (server, byte) in servers.iter_mut().zip(&mut requests) {
                    server.read_exact(std::slice::from_mut(byte)).unwrap();
                }
                for (server, byte) in servers.iter_mut().zip(requests).rev() {
                    server.write_all(&[byte + 1]).unwrap();
                }
            }
        });
        let thread = std::thread::current().id();
        let client = |(number, mut wire): (usize, Wire)| {
            move || {
                assert_eq!(std::thread::current().id(), thread);
                (0..ROUNDS).map(|round| u32::from(ask(&mut wire, round + number as u8))).sum()
            }
        };
        let sums: Vec<u32> = run_clients(wires.into_iter().enumerate().map(client)).unwrap();
        let expected_sum =
            |number: u32| (1..=u32::from(ROUNDS)).map(|round| round + number).sum::<u32>();
        assert_eq!(sums, (0..CLIENTS as u32).map(expected_sum).collect::<Vec<_>>());
        server.join().unwrap();
    }

    #[test]
    fn others_go_on_while_one_pauses() {
        let order = RefCell::new(Vec::new());
        let client = |name, times: [u64; 2]| {
            let order = &order;
            move || {
                for time in times {
                    pause(Duration::from_millis(time));
                    order.borrow_mut().push(name);
                }
            }
        };
        run_clients([client('a', [40, 0]), client('b', [0, 5])]).unwrap();
        assert_eq!(order.take(), ['b', 'b', 'a', 'a']);
    }

    /// The remaining client is dropped with what it holds, and the thread is not shared any more.
    #[test]
    fn a_panic_ends_them_all() {
        struct Held<'h>(&'h Cell<bool>);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let let_go = Cell::new(false);
        let clients = [true, false].map(|holds| {
            let let_go = &let_go;
            move || {
                let _held = holds.then(|| Held(let_go));
                assert!(holds, "scripted");
                pause(Duration::from_secs(60));
            }
        });
        assert!(catch_unwind(AssertUnwindSafe(|| run_clients(clients))).is_err());
        assert!(let_go.get() && !is_shared());
        pause(Duration::ZERO);
    }

    #[test]
    fn a_server_that_hangs_up_is_an_error_of_its_client_alone() {
        let (wires, mut servers) = connected(2);
        drop(servers.pop());
        servers[0].write_all(&[7]).unwrap();
        let client = |mut wire: Wire| move || wire.receive().is_ok();
        assert_eq!(run_clients(wires.into_iter().map(client)).unwrap(), [true, false]);
    }
}
