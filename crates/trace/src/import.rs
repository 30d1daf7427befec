//! Imports a file of any format as a trace, in constant memory. Requests go to a temporary file
//! without a name, their keys are sorted (`sorting`), and a second pass adds the keys' numbers.

use super::error::{At, TraceError};
use super::formats::{Format, Importer, Notes, RawRequest};
use super::header::{Header, Kind, Times};
use super::input::Input;
use super::request::{Op, Request};
use super::sorting::{Keys, Limits, Numbers, reread, spool};
use super::varint;
use super::writer::TraceWriter;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The files and limits of an import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The format of the file.
    pub format: Format,
    /// The file; `-`: standard input.
    pub from: PathBuf,
    /// The trace to write.
    pub to: PathBuf,
    /// The most requests that are imported, from the first on; none: all.
    pub limit: Option<u64>,
    /// The directory for temporary files; none: that of `to`.
    pub scratch: Option<PathBuf>,
}

/// Reads a file in any format and writes it as a trace. It calls `tell` now and then with the
/// number of requests read.
pub fn import(task: &Import, tell: impl FnMut(u64)) -> Result<Header, TraceError> {
    let input = Input::open(&task.from)?;
    from_input(task, input, Limits::default(), tell)
}

pub(crate) fn from_input(
    task: &Import,
    input: Input,
    limits: Limits,
    tell: impl FnMut(u64),
) -> Result<Header, TraceError> {
    let dir = task.to.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = task.scratch.as_deref().or(dir).unwrap_or(Path::new("."));
    let name = task.from.file_name().map_or_else(|| "-".into(), |name| name.to_string_lossy());
    let mut importer = task.format.open(input)?;
    let writing = TraceError::writing(dir);
    let collected = Collected::new(dir, task.format.kind(), limits).map_err(&writing)?;
    let limit = task.limit.unwrap_or(u64::MAX);
    let (collected, notes) = collected.fill(importer.as_mut(), limit, &writing, tell)?;
    let times = importer.times();
    drop(importer);
    check(task, times, &collected, &notes)?;
    let out_of_order = collected.out_of_order;
    let header = Header::new(task.format.kind(), task.format, &name, times);
    let mut writer = TraceWriter::create(&task.to, header)?;
    let mut again = collected.into_second_pass().map_err(&writing)?;
    again.spread = times == Times::SpreadOverSeconds;
    while let Some(request) = again.next().map_err(&writing)? {
        writer.write(request)?;
    }
    let header = writer.header_mut();
    header.left_out = notes.left_out;
    header.mapped = notes.mapped;
    header.cut_short = notes.cut_short;
    header.unended = notes.unended;
    header.out_of_order = out_of_order;
    writer.finish()
}

/// Refuses requests whose times make no sense: the file is probably of another format.
fn check(
    task: &Import,
    times: Times,
    collected: &Collected,
    notes: &Notes,
) -> Result<(), TraceError> {
    let Collected { count, out_of_order, earliest_ns, latest_ns, .. } = *collected;
    let summary = if count == 0 && !notes.left_out.is_empty() {
        "no known request, and others left out".to_owned()
    } else if times == Times::None || count < FEW {
        return Ok(());
    } else if out_of_order * 10 >= count * 9 {
        format!("{out_of_order} of {count} requests with a time before the previous one")
    } else if earliest_ns < UNIX_1990_NS && latest_ns > unix_ns() {
        let years = (latest_ns - earliest_ns) / YEAR_NS;
        format!("times that are {years} years apart")
    } else {
        return Ok(());
    };
    let name = task.from.display().to_string();
    let expected = format!("{}: {}", task.format.name(), task.format.record());
    Err(TraceError::malformed(&name, At::Whole, summary, expected))
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(u64::MAX, |since| since.as_nanos() as u64)
}

/// The requests after the first pass, in temporary files.
struct Collected {
    requests: BufWriter<File>,
    count: u64,
    /// The number of requests at each time, in the order of the times.
    same_time_counts: BufWriter<File>,
    of_this: u64,
    keys: Option<Keys>,
    first_ns: Option<u64>,
    last_ns: u64,
    out_of_order: u64,
    /// The extremes of the times, as the source has them.
    earliest_ns: u64,
    latest_ns: u64,
}

/// Requests between two calls of `tell`.
const TOLD_EVERY: u64 = 1 << 18;

const JOINED: u8 = 0x80;

/// The fewest requests whose times are checked: the order of fewer says nothing.
const FEW: u64 = 10;
const YEAR_NS: u64 = 31_557_600 * 1_000_000_000;
const UNIX_1990_NS: u64 = 631_152_000 * 1_000_000_000;

impl Collected {
    fn new(dir: &Path, kind: Kind, limits: Limits) -> io::Result<Self> {
        Ok(Self {
            requests: spool(dir)?,
            count: 0,
            same_time_counts: spool(dir)?,
            of_this: 0,
            keys: (kind == Kind::Keys).then(|| Keys::new(dir, limits)),
            first_ns: None,
            last_ns: 0,
            out_of_order: 0,
            earliest_ns: u64::MAX,
            latest_ns: 0,
        })
    }

    fn fill(
        mut self,
        importer: &mut dyn Importer,
        limit: u64,
        writing: impl Fn(io::Error) -> TraceError,
        mut tell: impl FnMut(u64),
    ) -> Result<(Self, Notes), TraceError> {
        let (mut request, mut notes) = (RawRequest::default(), Notes::default());
        while self.count < limit && importer.next(&mut request, &mut notes)? {
            for _ in 0..request.times.min(limit - self.count) {
                self.push(&request).map_err(&writing)?;
                if self.count.is_multiple_of(TOLD_EVERY) {
                    tell(self.count);
                }
            }
        }
        Ok((self, notes))
    }

    fn push(&mut self, request: &RawRequest) -> io::Result<()> {
        self.earliest_ns = self.earliest_ns.min(request.at_ns);
        self.latest_ns = self.latest_ns.max(request.at_ns);
        let first_ns = *self.first_ns.get_or_insert(request.at_ns);
        let at_ns = request.at_ns.saturating_sub(first_ns);
        self.out_of_order += u64::from(request.at_ns < first_ns + self.last_ns);
        let at_ns = at_ns.max(self.last_ns);
        if at_ns > self.last_ns {
            varint::write(&mut self.same_time_counts, self.of_this)?;
            self.of_this = 0;
        }
        self.of_this += 1;
        self.count += 1;
        let to = &mut self.requests;
        varint::write(to, at_ns - self.last_ns)?;
        self.last_ns = at_ns;
        to.write_all(&[request.op.code() | if request.joined { JOINED } else { 0 }])?;
        match &mut self.keys {
            Some(keys) => keys.push(&request.key)?,
            None => varint::write(to, request.offset)?,
        }
        varint::write(to, request.key_bytes.into())?;
        varint::write(to, request.value_bytes)?;
        varint::write(to, request.client.into())?;
        varint::write(to, request.ttl_ns)
    }

    fn into_second_pass(mut self) -> io::Result<SecondPass> {
        varint::write(&mut self.same_time_counts, self.of_this)?;
        let numbers = self.keys.map(Keys::numbers).transpose()?;
        Ok(SecondPass {
            requests: reread(self.requests)?,
            same_time_counts: reread(self.same_time_counts)?,
            requests_left: self.count,
            numbers,
            spread: false,
            second_ns: 0,
            in_second: Position::default(),
        })
    }
}

/// The requests of the second pass, with their keys' numbers.
struct SecondPass {
    requests: BufReader<File>,
    same_time_counts: BufReader<File>,
    requests_left: u64,
    numbers: Option<Numbers>,
    spread: bool,
    /// The current time since the first request, as precise as the source has it.
    second_ns: u64,
    in_second: Position,
}

/// A position among the requests of one time: the index and their number.
#[derive(Default)]
struct Position {
    at: u64,
    of: u64,
}

impl SecondPass {
    fn next(&mut self) -> io::Result<Option<Request>> {
        if self.requests_left == 0 {
            return Ok(None);
        }
        self.requests_left -= 1;
        let from = &mut self.requests;
        self.second_ns += varint::read(from)?;
        let mut code = [0];
        from.read_exact(&mut code)?;
        let op =
            Op::from_code(code[0] & !JOINED).ok_or_else(|| io::Error::other("no operation"))?;
        let key = match &mut self.numbers {
            Some(numbers) => numbers.next()?,
            None => varint::read(from)?,
        };
        let key_bytes = varint::read(from)? as u32;
        let value_bytes = varint::read(from)?;
        let client = varint::read(from)? as u32;
        let ttl_ns = varint::read(from)?;
        let (joined, at_ns) = (code[0] & JOINED != 0, self.time()?);
        Ok(Some(Request { at_ns, op, joined, key, key_bytes, value_bytes, client, ttl_ns }))
    }

    fn time(&mut self) -> io::Result<u64> {
        const SECOND_NS: u128 = 1_000_000_000;
        if self.in_second.at == self.in_second.of {
            self.in_second = Position { at: 0, of: varint::read(&mut self.same_time_counts)? };
        }
        let Position { at, of } = self.in_second;
        self.in_second.at += 1;
        let into = if self.spread { SECOND_NS * u128::from(at) / u128::from(of.max(1)) } else { 0 };
        Ok(self.second_ns + into as u64)
    }
}
