//! Opens the copies of a store at their places. It finds the copies that exist and are current,
//! replays the journal, and makes a new copy for one that is missing.

use crate::aligned::Aligned;
use crate::format::{Geometry, is_zero, version_epoch};
use crate::header::{Header, Verdict, judge};
use crate::log::{Count, Log};
use crate::member::{Member, MemberState};
use kvdyno_engine::{Error, ErrorClass, Location, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

/// The data that the caller will store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreSpec {
    pub(crate) records: u64,
    pub(crate) value_bytes: u64,
    /// Records in one block. Zero: what the store has, or as many as fit into a page.
    pub(crate) pack: u64,
    /// Whether a new first place is to be rebuilt from its mirror.
    pub(crate) rebuild: bool,
    /// Whether the journal will be used.
    pub(crate) commit: bool,
}

/// Copies that hold the same, and the header that was written to each.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) members: Vec<Member>,
    pub(crate) header: Header,
}

/// Opens the store at one or two locations, or creates it.
pub(crate) fn open(places: &[(Location, String)], spec: StoreSpec, log: &Log) -> Result<OpenStore> {
    let (mut members, mut away) = (Vec::new(), None);
    for (index, (location, name)) in places.iter().enumerate() {
        // Only for a new store: a mirror's directory that is missing beside an existing store is
        // one that is not mounted.
        if let ([(_, MemberState::Fresh)], 1, Location::Directory(path)) =
            (&members[..], index, location)
            && !path.exists()
        {
            std::fs::create_dir(path).map_err(|error| {
                let error = Error::from(error).context(&format!("making {}", path.display()));
                Error::invalid(error.message)
            })?;
        }
        let opened = Member::open(location, name).and_then(|member| {
            let standing = member.state()?;
            Ok((member, standing))
        });
        match opened {
            Ok(copy) => members.push(copy),
            Err(error) if places.len() > 1 && is_away(&error) => {
                log.record(Count::GivenUp, 1, error.message.clone());
                away = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let [(first, MemberState::Fresh), (mirror, MemberState::Ours(..))] = members.as_slice()
        && !spec.rebuild
    {
        return Err(Error::invalid(format!(
            "{} is a store and {} is not: remove it if it is of another store or run, or restore \
             the copy; if the first copy is lost: rebuild = true",
            mirror.path.display(),
            first.path.display()
        )));
    }
    let (current, behind, header) = sort(members, log)?;
    match (header, away) {
        (Some(header), _) => reopen(current, behind, header, spec, log),
        (None, Some(error)) => Err(error.context("a new mirror needs both of its directories")),
        (None, None) => create(behind, spec, log),
    }
}

/// Tells whether to go on with the other copy: only if the drive itself fails. Any other error is
/// for the user to decide.
fn is_away(error: &Error) -> bool {
    error.class == ErrorClass::Io
}

type Sorted = (Vec<Member>, Vec<Member>, Option<Header>);

/// Returns the copies that are current, those that are not, and the newest header.
fn sort(members_found: Vec<(Member, MemberState)>, log: &Log) -> Result<Sorted> {
    let mut sound = Vec::new();
    let (mut behind, mut damaged) = (Vec::new(), Vec::new());
    for (member, standing) in members_found {
        match standing {
            MemberState::Ours(header, one_damaged) => {
                if one_damaged {
                    let path = member.path.display();
                    let words = format!("{path}: one of its two headers was damaged");
                    log.record(Count::HeadersRepaired, 1, words);
                }
                sound.push((member, header));
            }
            MemberState::Fresh => behind.push(member),
            MemberState::Damaged(why) => {
                damaged.push(format!("{}: {why}", member.path.display()));
                behind.push(member);
            }
        }
    }
    if let [first, second] = sound.as_slice()
        && let Verdict::Only(current) = judge(&first.1, &second.1)?
    {
        behind.push(sound.remove(1 - current).0);
    }
    let newest = sound.iter().map(|(_, header)| header).max_by_key(|header| header.generation);
    let newest = newest.cloned();
    if newest.is_none() && !damaged.is_empty() {
        return Err(Error::new(ErrorClass::Corrupt, damaged.join("; ")));
    }
    Ok((sound.into_iter().map(|(member, _)| member).collect(), behind, newest))
}

fn create(members: Vec<Member>, spec: StoreSpec, log: &Log) -> Result<OpenStore> {
    let header = Header {
        uuid: random_uuid()?,
        geometry: Geometry::plan(spec.records, spec.value_bytes, spec.pack)?,
        generation: 0,
        epoch: 0,
        clean: true,
        alone: members.len() == 1,
    };
    for member in &members {
        member.wipe(&header)?;
        if spec.commit {
            fill_journal(member, &header.geometry)?;
        }
        member.sync()?;
        member.sync_name()?;
    }
    begin(members, header, log)
}

/// Writes zeros to the journal, so that the first commits do not wait for the filesystem to find
/// room.
fn fill_journal(member: &Member, geometry: &Geometry) -> Result<()> {
    let zeros = Aligned::new(geometry.block_bytes as usize);
    (0..u64::from(geometry.journal_slots))
        .try_for_each(|slot| member.write(&zeros, geometry.journal_offset(slot)))
}

fn random_uuid() -> Result<[u8; 16]> {
    let mut uuid = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut uuid)?;
    Ok(uuid)
}

fn reopen(
    mut members: Vec<Member>,
    behind: Vec<Member>,
    mut header: Header,
    spec: StoreSpec,
    log: &Log,
) -> Result<OpenStore> {
    check_geometry(&header.geometry, spec)?;
    if !header.clean {
        let restored = replay_where_possible(&mut members, &header, log)?;
        log.record(Count::Restored, restored, format!("not closed: {restored} blocks restored"));
    }
    // More records than before make the same file longer.
    let records = header.geometry.records.max(spec.records);
    header.geometry = header.geometry.with_records(records)?;
    members.iter().try_for_each(|member| member.ensure_length(header.geometry.file_bytes()))?;
    for member in behind {
        match resilver(&members[0], &member, &header) {
            Ok((bytes, bad)) => {
                let words = format!(
                    "{} was missing, damaged or behind: {bytes} bytes copied, {bad} bad blocks",
                    member.path.display()
                );
                log.record(Count::Resilvered, bytes, words);
                members.push(member);
            }
            Err(error) => log.record(Count::GivenUp, 1, error.message),
        }
    }
    begin(members, header, log)
}

/// Refuses a store that does not fit the data.
fn check_geometry(geometry: &Geometry, spec: StoreSpec) -> Result<()> {
    let (value, pack) = (u64::from(geometry.value_bytes), u64::from(geometry.pack));
    let what = if spec.value_bytes > value {
        format!("expected values of {value} bytes, found {}", spec.value_bytes)
    } else if spec.pack != 0 && spec.pack != pack {
        format!("expected pack = {pack}, as the store was made, found {}", spec.pack)
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("{what}; empty the directory to start anew")))
}

/// Writes this opening's header to every copy; a copy with an error is dropped.
fn begin(mut members: Vec<Member>, mut header: Header, log: &Log) -> Result<OpenStore> {
    header.epoch += 1;
    header.clean = false;
    loop {
        header.generation += 1;
        header.alone = members.len() == 1;
        let refused = members.iter().position(|member| member.write_header(&header).is_err());
        match refused {
            None => return Ok(OpenStore { members, header }),
            Some(index) if members.len() > 1 => {
                let member = members.remove(index);
                let words = format!("{}: cannot write its header", member.path.display());
                log.record(Count::GivenUp, 1, words);
            }
            Some(index) => {
                return Err(members[index].write_header(&header).err().unwrap_or_else(|| {
                    Error::new(ErrorClass::Io, "the header could be written the second time only")
                }));
            }
        }
    }
}

/// The place of the newest image of a block.
#[derive(Clone, Copy, Debug)]
struct Image {
    version: u64,
    member: usize,
    at: u64,
}

/// Replays the journals. Drops a copy whose drive fails, as long as another one is left: each
/// journal has all that was committed to both.
fn replay_where_possible(members: &mut Vec<Member>, header: &Header, log: &Log) -> Result<u64> {
    loop {
        match replay(members, header) {
            Ok(restored) => return Ok(restored),
            Err((index, error)) if members.len() > 1 => {
                members.remove(index);
                log.record(Count::GivenUp, 1, error.message);
            }
            Err((_, error)) => return Err(error),
        }
    }
}

/// Writes the journal's images to their blocks if those are older or torn. Only images of the
/// opening that was not closed count: earlier ones became durable when their opening ended. An
/// error is returned with its copy. Repeating all of it is safe.
fn replay(members: &[Member], header: &Header) -> Result<u64, (usize, Error)> {
    let (format, geometry) = (header.format(), &header.geometry);
    let block_bytes = geometry.block_bytes as usize;
    let mut newest: HashMap<u64, Image> = HashMap::new();
    let mut journal = Aligned::new(block_bytes * geometry.journal_slots as usize);
    for (member, copy) in members.iter().enumerate() {
        copy.read(&mut journal, geometry.journal_offset(0)).map_err(|error| (member, error))?;
        for (slot, image) in (0..).zip(journal.chunks(block_bytes)) {
            let offset = geometry.journal_offset(slot);
            let Ok((block, version)) = format.block_and_version(image) else { continue };
            let has_newer = newest.get(&block).is_some_and(|best| best.version >= version);
            if version_epoch(version) == header.epoch && block < geometry.blocks() && !has_newer {
                newest.insert(block, Image { version, member, at: offset });
            }
        }
    }
    let mut image = Aligned::new(block_bytes);
    let mut block_read = Aligned::new(block_bytes);
    let mut restored = 0;
    for (block, Image { version, member, at: offset }) in newest {
        members[member].read(&mut image, offset).map_err(|error| (member, error))?;
        for (which, copy) in members.iter().enumerate() {
            // A block that cannot be read is written: a drive then replaces a bad sector.
            let read = copy.read(&mut block_read, geometry.block_offset(block));
            let stored = read.ok().and_then(|()| format.inspect(block, &block_read).version());
            if stored < Some(version) {
                let written = copy.write(&image, geometry.block_offset(block));
                written.map_err(|error| (which, error))?;
                restored += 1;
            }
        }
    }
    for (which, copy) in members.iter().enumerate() {
        copy.sync().map_err(|error| (which, error))?;
    }
    Ok(restored)
}

/// Copies all blocks; returns the bytes and how many of the blocks were bad already.
fn resilver(from: &Member, to: &Member, header: &Header) -> Result<(u64, u64)> {
    const CHUNK: u64 = 1 << 20;
    let (format, geometry) = (header.format(), &header.geometry);
    to.wipe(&Header { generation: 0, epoch: 0, ..header.clone() })?;
    let block_bytes = u64::from(geometry.block_bytes);
    let mut buffer = Aligned::new(CHUNK.next_multiple_of(block_bytes) as usize);
    let (begin, end) = (geometry.data_offset(), geometry.file_bytes());
    let (mut offset, mut copied, mut bad) = (begin, 0, 0);
    while let Some((data, hole)) = from.next_data(offset, end)? {
        offset = begin + (data - begin) / block_bytes * block_bytes;
        let until = (begin + (hole - begin).next_multiple_of(block_bytes)).min(end);
        while offset < until {
            let bytes = (until - offset).min(buffer.len() as u64) as usize;
            let chunk = &mut buffer[..bytes];
            from.read(chunk, offset)?;
            let first = (offset - begin) / block_bytes;
            for (block, image) in (first..).zip(chunk.chunks(block_bytes as usize)) {
                bad += u64::from(format.inspect(block, image).version().is_none());
            }
            if !is_zero(chunk) {
                to.write(chunk, offset)?;
                copied += bytes as u64;
            }
            offset += bytes as u64;
        }
    }
    to.sync()?;
    to.sync_name()?;
    Ok((copied, bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One copy's drive fails to read; simulated by a file that is open for writing only.
    #[test]
    fn an_unreadable_journal_leaves_the_other_copy() {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Directory(dir.path().to_owned());
        let places = ["a", "b"].map(|name| (location.clone(), name.to_owned()));
        let spec =
            StoreSpec { records: 100, value_bytes: 100, pack: 0, rebuild: false, commit: true };
        let log = Log::default();
        let OpenStore { mut members, header } = open(&places, spec, &log).unwrap();
        members[0].file = File::options().write(true).open(dir.path().join("a")).unwrap();
        assert_eq!(replay_where_possible(&mut members, &header, &log), Ok(0));
        assert_eq!(members.len(), 1);
        assert!(members[0].path.ends_with("b"));
        assert_eq!(log.events.drain().len(), 1);
        members[0].file = File::options().write(true).open(dir.path().join("b")).unwrap();
        assert!(replay_where_possible(&mut members, &header, &log).is_err(), "no copy is left");
    }
}
