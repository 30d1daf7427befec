//! The tools of the checks: fresh locations, open engines, keys and values that differ.

use super::erased::{BoxEngine, BoxSession, OpenFn};
use crate::{Capabilities, DataShape, Description, Durability, Error, Location, Options, Result};
use std::cell::RefCell;

/// The result of a check: passed, or why it stopped.
pub(super) type Outcome = std::result::Result<(), Stop>;

/// Why a check stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The engine does not claim the ability.
    Skip(String),
    /// The engine failed the check.
    Fail(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fail(format!("{:?} error: {}", error.class, error.message))
    }
}

/// Fails the check with `what` unless `holds`.
pub(super) fn expect(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(Stop::Fail(what())) }
}

/// Skips the check unless the engine claims `ability`.
pub(super) fn require_ability(claimed: bool, ability: &str) -> Outcome {
    if claimed { Ok(()) } else { Err(Stop::Skip(format!("the engine does not claim {ability}"))) }
}

pub(super) type MakeLocation<'a> = Box<dyn FnMut(&str) -> Result<Location> + 'a>;

/// One engine under check, and the locations made for it.
pub(super) struct Field<'a> {
    pub(super) description: Description,
    open: OpenFn,
    make_location: RefCell<MakeLocation<'a>>,
    check: RefCell<&'static str>,
    locations: RefCell<Vec<Location>>,
}

impl<'a> Field<'a> {
    pub(super) fn new(
        description: Description,
        open: OpenFn,
        make_location: MakeLocation<'a>,
    ) -> Self {
        Self {
            description,
            open,
            make_location: RefCell::new(make_location),
            check: RefCell::new(""),
            locations: RefCell::default(),
        }
    }

    pub(super) fn begin(&self, check: &'static str) {
        self.check.replace(check);
    }

    /// The locations that were made since `begin`.
    pub(super) fn end(&self) -> Vec<Location> {
        self.locations.take()
    }

    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.description.capabilities
    }

    /// Skips the check for an engine that stores nothing on purpose.
    pub(super) fn require_contents(&self) -> Outcome {
        require_ability(!self.capabilities().stores_nothing, "to store records")
    }

    /// Defaults under the weakest class the engine has: the kit is not about speed, but a hundred
    /// thousand syncs would keep people from running it.
    pub(super) fn options(&self) -> Options {
        let classes = &self.capabilities().durability;
        let weakest = classes.keys().next().copied().unwrap_or(Durability::Commit);
        Options::defaults(&self.description, weakest)
    }

    pub(super) fn new_location(&self) -> Result<Location> {
        let location = (self.make_location.borrow_mut())(*self.check.borrow())?;
        self.locations.borrow_mut().push(location.clone());
        Ok(location)
    }

    /// The shape of `records` short records with room for a few more.
    pub(super) fn shape(&self, records: u64) -> DataShape {
        DataShape {
            records,
            records_max: records.max(1024),
            key_bytes: self.key_bytes() as u32,
            value_bytes_mean: 100,
            value_bytes_max: self.long_value_bytes(),
            sessions: 8,
            depth: 1,
            requests: None,
        }
    }

    /// An engine at a fresh location, under the weakest durability class.
    pub(super) fn open(&self, records: u64) -> Result<BoxEngine> {
        self.open_at(&self.new_location()?, &self.options(), &self.shape(records))
    }

    pub(super) fn open_at(
        &self,
        location: &Location,
        options: &Options,
        shape: &DataShape,
    ) -> Result<BoxEngine> {
        (self.open)(location, options, shape)
    }

    /// The longest value the kit stores.
    pub(super) fn long_value_bytes(&self) -> u64 {
        self.capabilities().value_bytes_max.unwrap_or(u64::MAX).min(1 << 20)
    }

    fn key_bytes(&self) -> usize {
        self.capabilities().key_bytes_max.unwrap_or(u64::MAX).min(16) as usize
    }

    /// The key of a number: big-endian, zeros in front, so that the order of the keys is that of
    /// the numbers.
    pub(super) fn key(&self, number: u64) -> Vec<u8> {
        let digits = number.to_be_bytes();
        let bytes = self.key_bytes();
        let mut key = vec![0; bytes];
        let digits_kept = bytes.min(digits.len());
        key[bytes - digits_kept..].copy_from_slice(&digits[digits.len() - digits_kept..]);
        key
    }
}

/// A value that holds its key's number and its version in its first 16 bytes. The rest is noise
/// computed from the two, so no two values are equal.
pub(super) fn value(number: u64, version: u64, bytes: usize) -> Vec<u8> {
    let mut value = Vec::with_capacity(bytes + 16);
    value.extend_from_slice(&number.to_le_bytes());
    value.extend_from_slice(&version.to_le_bytes());
    let mut state = number.rotate_left(32) ^ version;
    while value.len() < bytes {
        state = mix(state);
        value.extend_from_slice(&state.to_le_bytes());
    }
    value.truncate(bytes);
    value
}

/// The version in a value of `number`, if the value is whole.
pub(super) fn parse_version(number: u64, bytes: &[u8]) -> Option<u64> {
    let version = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    (bytes == value(number, version, bytes.len())).then_some(version)
}

/// `SplitMix64`'s step (Steele, Lea, Flood 2014).
pub(super) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The value under `key`, copied.
pub(super) fn get(session: &mut BoxSession<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut copy = None;
    session.get(key, &mut |value| copy = value.map(<[u8]>::to_vec))?;
    Ok(copy)
}

/// Fails unless `key` holds exactly `expected`.
pub(super) fn expect_value(
    session: &mut BoxSession<'_>,
    key: &[u8],
    expected: Option<&[u8]>,
) -> Outcome {
    let value = get(session, key)?;
    expect(value.as_deref() == expected, || {
        format!("key {key:02x?}: expected {}, found {}", brief(expected), brief(value.as_deref()))
    })
}

fn brief(value: Option<&[u8]>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(value) => {
            format!("{} bytes {:02x?}", value.len(), &value[..value.len().min(16)])
        }
    }
}
