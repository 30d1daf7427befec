//! The conformance kit on every kind of store: small and packed blocks, one copy and two, both
//! durability classes, a directory and a file standing in for a device.

use kvdyno_direct::Direct;
use kvdyno_engine::conformance::{self, Adjust, Adjusted, Only};
use kvdyno_engine::{Description, Engine, Location, Options, Result, Value};
use std::path::PathBuf;

/// The kit's longest value; with one of 1 MiB it would write 20 GB.
const VALUE_BYTES_MAX: u64 = 500;

struct Store<const PACK: u64, const MIRROR: bool>;

impl<const PACK: u64, const MIRROR: bool> Adjust for Store<PACK, MIRROR> {
    type Engine = Direct;

    fn describe(description: &mut Description) {
        description.capabilities.value_bytes_max = Some(VALUE_BYTES_MAX);
        for option in &mut description.options {
            if option.name == "pack" {
                option.default = Value::Integer(PACK);
            }
        }
    }

    fn configure(location: &Location, options: &mut Options) -> Result<()> {
        if MIRROR {
            let (Location::Directory(path) | Location::Device(path)) = location else {
                unreachable!()
            };
            let mirror = PathBuf::from(format!("{}-mirror", path.display()));
            std::fs::create_dir_all(&mirror)?;
            let mirror = mirror.to_str().unwrap().to_owned();
            options.values.insert("mirror".to_owned(), Value::Text(mirror));
        }
        Ok(())
    }
}

/// In one class: async is 1, commit 2.
type Variant<const PACK: u64, const MIRROR: bool, const CLASS: usize> =
    Only<Adjusted<Store<PACK, MIRROR>>, CLASS>;

#[track_caller]
fn conforms<E: Engine>() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<E>(scratch.path());
    assert!(report.conforms(), "{report}");
}

#[test]
fn one_record_a_block() {
    conforms::<Variant<1, false, 1>>();
}

#[test]
fn as_many_as_fit_in_class_commit() {
    conforms::<Variant<0, false, 2>>();
}

#[test]
fn packed() {
    conforms::<Variant<64, false, 1>>();
}

#[test]
fn packed_in_class_commit() {
    conforms::<Variant<64, false, 2>>();
}

#[test]
fn mirrored() {
    conforms::<Variant<1, true, 1>>();
}

#[test]
fn mirrored_and_packed_in_class_commit() {
    conforms::<Variant<64, true, 2>>();
}

#[test]
fn on_a_file_standing_in_for_a_device() {
    let scratch = tempfile::tempdir().unwrap();
    let mut made = 0;
    let report = conformance::run_at::<Variant<0, false, 1>>(|_| {
        made += 1;
        let path = scratch.path().join(made.to_string());
        std::fs::File::create_new(&path)?.set_len(1 << 30)?;
        Ok(Location::Device(path))
    });
    assert!(report.conforms(), "{report}");
}
