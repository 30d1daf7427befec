//! `[[volume]]` as typed: the storage of databases, and the filesystem that is created on it before
//! each load.

use crate::written::media;
use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Or as _, Toml, Word, all_words};
use crate::written::scalar::{DataSize, Name};
use kvdyno_record::engine::PlaceKind;
use kvdyno_record::units::Ratio;
use kvdyno_record::volume::{self, FilesystemKind, Format, Medium};
use schemars::JsonSchema;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

/// Minimum size of an image: mkfs.xfs refuses less than 300 MiB.
const IMAGE_BYTES_MIN: u64 = 320 * MIB;

/// A filesystem or device for the databases. kvdyno makes it anew before each load. Mounts have
/// noatime, and nodiscard on btrfs. A `[drive]` runs its jobs on each volume.
///
/// With a shared database the volume stays mounted for all its cases, and an image has room for a
/// copy. A killed run leaves its filesystem on the device, with a label of `kvdyno-` and five
/// letters. `kvdyno resume` with the same consent continues on it, and other runs refuse the
/// device. Several volumes and swap may share one device, one after the other.
///
/// Tables group the rows of a volume. `vs. vol` is the ratio to the same engine on the first
/// volume.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Volume {
    /// The name of the volume in tables.
    pub(crate) name: At<Name>,
    /// The kind of volume.
    pub(crate) kind: At<Kind>,
    /// The path of a directory, or the full path of a block device. Required for `directory`, and
    /// for `device` without `medium`.
    pub(crate) path: Option<At<String>>,
    /// The medium in place of a path, from `[media]`. Only for `device`.
    pub(crate) medium: Option<At<Name>>,
    /// The size of a loop device's image, at least 320 MiB. `--scale` scales it. Default: auto, the
    /// engine's stated need plus a quarter and 128 MiB.
    pub(crate) size: Option<At<DataSize>>,
    /// The filesystem to make. With `raw` the engine works on the device itself. Required for
    /// `loop` and `device`.
    #[schemars(
        with = "Option<String>",
        extend("enum" = all_words::<Made>())
    )]
    pub(crate) filesystem: Option<At<Made>>,
    /// Further arguments of mkfs: `["-O", "^has_journal"]`. kvdyno refuses arguments that could
    /// name another device. Not for `directory` or `raw`. Default: none.
    pub(crate) mkfs: Option<At<Vec<At<String>>>>,
    /// Further mount options: `["data=writeback"]`. Not for `directory` or `raw`. Default: none.
    pub(crate) mount: Option<At<Vec<At<String>>>>,
    /// Discards the whole device before each load. Only for `device`. Default: false.
    pub(crate) discard: Option<At<bool>>,
}

/// The kind of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "VolumeKind")]
pub(crate) enum Kind {
    /// A directory on any filesystem. kvdyno makes nothing.
    Directory,
    /// A loop device on an image in the data directory. Needs root.
    Loop,
    /// A block device; its data is lost. Needs root and `--destroy-data-on=PATH`. The device must
    /// be unmounted, unused, writable, large enough, and without a signature at its beginning or
    /// end. Other data is overwritten. kvdyno returns it blank.
    Device,
}

/// The filesystem on a block device; none: the engine uses the device itself.
type Made = Option<FilesystemKind>;

impl Word for Kind {
    const WHAT: &'static str = "a kind of volume";
    const ALL: &'static [(&'static str, Self)] =
        &[("directory", Self::Directory), ("loop", Self::Loop), ("device", Self::Device)];
}

impl Word for Made {
    const WHAT: &'static str = "a filesystem";
    const ALL: &'static [(&'static str, Self)] = &[
        ("ext4", Some(FilesystemKind::Ext4)),
        ("xfs", Some(FilesystemKind::Xfs)),
        ("btrfs", Some(FilesystemKind::Btrfs)),
        ("raw", None),
    ];
}

impl FromToml for Volume {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "[[volume]]", mistakes)?;
        let name = fields.required("name");
        // The other keys depend on the kind.
        let kind: At<Kind> = fields.required("kind")?;
        let (what, is_made) = match kind.value {
            Kind::Directory => ("a directory as volume", false),
            Kind::Loop => ("a loop device as volume", true),
            Kind::Device => ("a device as volume", true),
        };
        fields.call(what);
        let (path, medium) = match kind.value {
            Kind::Directory => (fields.required("path"), None),
            Kind::Loop => (None, None),
            Kind::Device => media::read_location(&mut fields, true).unwrap_or_default(),
        };
        let size = (kind.value == Kind::Loop).then(|| fields.optional("size")).flatten();
        let discard = (kind.value == Kind::Device).then(|| fields.optional("discard")).flatten();
        let filesystem: Option<At<Made>> = is_made.then(|| fields.required("filesystem")).flatten();
        let raw = filesystem.as_ref().is_some_and(|filesystem| filesystem.value.is_none());
        let has_options = is_made && !raw;
        let mkfs = has_options.then(|| fields.optional("mkfs")).flatten();
        let mount = has_options.then(|| fields.optional("mount")).flatten();
        fields.finish();
        Some(Self { name: name?, kind, path, medium, size, filesystem, mkfs, mount, discard })
    }
}

impl Volume {
    /// Returns the kind of location in which an engine must be able to store its data.
    pub(crate) fn location_kind(&self) -> PlaceKind {
        let raw = self.filesystem.as_ref().is_some_and(|filesystem| filesystem.value.is_none());
        if raw { PlaceKind::Device } else { PlaceKind::Directory }
    }

    /// Returns the volume, for a database that may need this many bytes.
    pub(crate) fn resolve(&self, scale: Ratio, space_bytes: u64) -> volume::Volume {
        let path = || PathBuf::from(self.path.as_ref().map_or("", |path| path.as_str()));
        let medium = match self.kind.value {
            Kind::Directory => Medium::Directory { path: path() },
            Kind::Loop => Medium::Loop {
                directory: self.path.as_ref().map(|_| path()),
                bytes: self.image_bytes(scale, space_bytes),
                format: self.format(),
            },
            Kind::Device => Medium::Device {
                path: path(),
                discard: self.discard.value_or(false),
                format: self.format(),
            },
        };
        volume::Volume { name: self.name.0.clone(), medium }
    }

    /// Returns the bytes of an image, in whole mebibytes: as typed and scaled, or a quarter more
    /// than the engine's estimate, plus room for the filesystem.
    fn image_bytes(&self, scale: Ratio, space_bytes: u64) -> u64 {
        let bytes = match self.size.value_or(DataSize::Auto) {
            DataSize::Is(bytes) => scale.multiply(bytes).unwrap_or(bytes),
            DataSize::Auto => space_bytes.saturating_add(space_bytes / 4).saturating_add(128 * MIB),
        };
        bytes.max(IMAGE_BYTES_MIN).div_ceil(MIB).saturating_mul(MIB)
    }

    fn format(&self) -> Format {
        let Some(filesystem) = self.filesystem.value_or(None) else { return Format::Raw };
        let words = |words: &Option<At<Vec<At<String>>>>| {
            let words = words.iter().flat_map(|words| &words.value);
            words.map(|word| word.value.clone()).collect()
        };
        Format::Filesystem { filesystem, mkfs: words(&self.mkfs), mount: words(&self.mount) }
    }
}
