//! The conformance kit on every kind of store: small and packed blocks, one copy and two, both
//! durability classes, a directory and a file standing in for a device.

use kvdyno_direct::{Direct, DirectSession};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Location, Options, Result,
    Settled, Value, conformance,
};
use std::path::PathBuf;
use std::time::Duration;

/// The engine under other defaults: the kit opens with the defaults, in the weakest class.
struct Variant<const PACK: u64, const MIRROR: bool, const COMMIT: bool>(Direct);

/// The kit's longest value; with one of 1 MiB it would write 20 GB.
const VALUE_BYTES_MAX: u64 = 500;

impl<const PACK: u64, const MIRROR: bool, const COMMIT: bool> Engine
    for Variant<PACK, MIRROR, COMMIT>
{
    type Session<'e> = DirectSession<'e>;

    fn describe() -> Description {
        let mut description = Direct::describe();
        let class = if COMMIT { Durability::Commit } else { Durability::Async };
        description.capabilities.durability.retain(|other, _| *other == class);
        description.capabilities.value_bytes_max = Some(VALUE_BYTES_MAX);
        for option in &mut description.options {
            if option.name == "pack" {
                option.default = Value::Integer(PACK);
            }
        }
        description
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let mut options = options.clone();
        if MIRROR {
            let (Location::Directory(path) | Location::Device(path)) = location else {
                unreachable!()
            };
            let mirror = PathBuf::from(format!("{}-mirror", path.display()));
            std::fs::create_dir_all(&mirror)?;
            let mirror = mirror.to_str().unwrap().to_owned();
            options.values.insert("mirror".to_owned(), Value::Text(mirror));
        }
        Direct::open(location, &options, data).map(Self)
    }

    fn session(&self) -> Result<DirectSession<'_>> {
        self.0.session()
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        self.0.settle(limit)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn close(self) -> Result<()> {
        self.0.close()
    }

    fn counters(&self) -> Counters {
        self.0.counters()
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.0.events()
    }
}

#[track_caller]
fn conforms<E: Engine>() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<E>(scratch.path());
    assert!(report.conforms(), "{report}");
}

#[test]
fn one_record_a_block() {
    conforms::<Variant<1, false, false>>();
}

#[test]
fn as_many_as_fit_in_class_commit() {
    conforms::<Variant<0, false, true>>();
}

#[test]
fn packed() {
    conforms::<Variant<64, false, false>>();
}

#[test]
fn packed_in_class_commit() {
    conforms::<Variant<64, false, true>>();
}

#[test]
fn mirrored() {
    conforms::<Variant<1, true, false>>();
}

#[test]
fn mirrored_and_packed_in_class_commit() {
    conforms::<Variant<64, true, true>>();
}

#[test]
fn on_a_file_standing_in_for_a_device() {
    let scratch = tempfile::tempdir().unwrap();
    let mut made = 0;
    let report = conformance::run_at::<Variant<0, false, false>>(|_| {
        made += 1;
        let path = scratch.path().join(made.to_string());
        std::fs::File::create_new(&path)?.set_len(1 << 30)?;
        Ok(Location::Device(path))
    });
    assert!(report.conforms(), "{report}");
}
