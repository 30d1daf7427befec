//! The storage of a run's databases: its data directory, and the volumes of its suite. A volume is
//! created when its database is loaded, and removed after the database's last use.

use super::consent::consent;
use crate::exit::Complaint;
use kvdyno_host::cache;
use kvdyno_host::copy;
use kvdyno_host::device::Device;
use kvdyno_host::fresh::{self, namespace};
use kvdyno_host::raw::{self, label};
use kvdyno_host::size;
use kvdyno_host::{
    DataDirLock, DataDirectory, Fresh, FreshError, Root, Storage, VolumeSpec, is_missing,
};
use kvdyno_record::case::{CopyRecord, Copying, StateOrigin};
use kvdyno_record::engine;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::protocol::AttachedServer;
use kvdyno_record::replay::replays;
use kvdyno_record::run::RunRecord;
use kvdyno_record::units;
use kvdyno_record::volume::{Format, Medium, VolumeRecord};
use kvdyno_record::workload::Activity;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The location of one database.
#[derive(Clone, Debug)]
pub(super) struct DatabaseLocation {
    /// Its directory, or its device.
    pub(super) path: PathBuf,
    /// The device whose counters show its I/O, if there is one.
    pub(super) device: Option<Device>,
    /// What cannot be measured there, each as a sentence.
    pub(super) not_measured: Vec<String>,
    /// The suite's volume that contains it; `None`: it is in the run's data directory.
    pub(super) volume: Option<VolumeRecord>,
    /// The record of its copying, if it is a copy made for one case.
    pub(super) copy: Option<CopyRecord>,
}

impl DatabaseLocation {
    /// Returns the location for an engine or its server.
    pub(super) fn location(&self) -> engine::Location {
        let path = self.path.clone();
        if raw::is_device(&path) {
            engine::Location::Device(path)
        } else {
            engine::Location::Directory(path)
        }
    }
}

/// The storage of a run's databases.
pub(crate) struct Volumes {
    root: Root,
    /// The label of filesystems on the run's devices.
    label: String,
    // Dropped before the locks: a filesystem mounted in a data directory is unmounted first.
    /// The created volumes, by the ids of their databases.
    made: BTreeMap<String, Fresh>,
    data_dir: DataDirLock,
    /// The locks of the suite's directories and devices, by their paths.
    named: BTreeMap<PathBuf, DataDirLock>,
    /// A sentence for the next case, if the drive was still at work after a deletion.
    restless: Option<String>,
}

/// After a deletion of fewer bytes the drive is not waited for.
const REST_BYTES: u64 = 16 << 20;

/// The longest wait for a drive after a deletion.
const REST_LIMIT: Duration = Duration::from_secs(10);

/// Fails if this machine cannot create a volume of the plan. Changes nothing.
pub(crate) fn check(plan: &Plan) -> Result<(), Complaint> {
    for volume in plan.cases.iter().filter_map(|case| case.volume.as_ref()) {
        fresh::check(&volume.medium).map_err(volume_error(&volume.name))?;
        let name = &volume.name;
        match &volume.medium {
            Medium::Device { path, .. } => raw::check_writable(&Root::system(), path)
                .map_err(|error| Complaint::usage(format!("volume `{name}`: {error}")))?,
            Medium::Directory { path } | Medium::Loop { directory: Some(path), .. } => {
                check_exists(name, path)?;
            }
            Medium::Loop { directory: None, .. } => {}
        }
    }
    plan.cases.iter().try_for_each(|case| check_room(case, plan))
}

/// Refuses a missing directory: it is a typing error, or a drive that is not mounted.
fn check_exists(name: &str, path: &Path) -> Result<(), Complaint> {
    // Other files at this path are refused later.
    if !is_missing(path) {
        return Ok(());
    }
    let path = path.display();
    let what = format!("volume `{name}`: expected an existing directory, found nothing at {path}");
    Err(Complaint::usage(what).hint(format!(
        "`findmnt` shows whether the intended drive is mounted; `mkdir -p {path}` creates it"
    )))
}

/// Refuses a device that is smaller than the data to load; the additional space of engines is
/// unknown here.
fn check_room(case: &Case, plan: &Plan) -> Result<(), Complaint> {
    let Some(volume) = &case.volume else { return Ok(()) };
    let Medium::Device { path, .. } = &volume.medium else { return Ok(()) };
    let stores = plan.estimate.databases.get(&case.database.id).is_some_and(|space| *space > 0);
    let least = (case.user_bytes() as f64 * case.data.value.compress_to) as u64;
    let bytes = raw::bytes(&Root::system(), path);
    // Other paths are refused when they are locked.
    if !stores || bytes == 0 || least <= bytes {
        return Ok(());
    }
    let what = format!(
        "volume {}: {} has {}, but {} loads at least {}",
        volume.name,
        path.display(),
        units::bytes(bytes),
        case.id,
        units::bytes(least)
    );
    let remedy = "use less data (`run --scale`, `quick --size`), or a larger device";
    Err(Complaint::usage(what).hint(remedy))
}

impl Volumes {
    /// Locks the plan's directories and devices besides the run's data directory, for this run. If
    /// anything must be mounted, this thread enters a mount namespace of its own, from which it
    /// starts the workers. `dir` is the run's directory.
    pub(crate) fn acquire(
        root: &Root,
        data_dir: DataDirLock,
        plan: &Plan,
        dir: &Path,
        record: &RunRecord,
        destroy_allowed: &[PathBuf],
    ) -> Result<Self, Complaint> {
        let run = record.id.as_str();
        let label = label::run_label(run);
        let mut locks = BTreeMap::new();
        let mut mounts = false;
        for case in &plan.cases {
            let Some(volume) = &case.volume else { continue };
            let claim = match &volume.medium {
                Medium::Directory { path } | Medium::Loop { directory: Some(path), .. }
                    if !locks.contains_key(path) =>
                {
                    let needed = plan.estimate.databases.get(&case.database.id).copied();
                    let data_dir =
                        DataDirectory::examine(root, path, needed.unwrap_or(0), Some(run))?;
                    Some((path.clone(), DataDirLock::acquire(&data_dir, run)?))
                }
                Medium::Device { path, .. } if !locks.contains_key(path) => {
                    let consent = consent(destroy_allowed, path);
                    Some((path.clone(), DataDirLock::device(root, path, &consent, Some(&label))?))
                }
                _ => None,
            };
            locks.extend(claim);
            mounts |= is_mounted(&volume.medium);
        }
        if mounts {
            let mut paths: Vec<&Path> = locks.keys().map(PathBuf::as_path).collect();
            paths.extend([data_dir.path(), dir].into_iter().chain(record.trace.as_deref()));
            paths.extend(plan.cases.iter().flat_map(read_files));
            // Mounts are private.
            namespace::enter(&paths).map_err(|error| {
                Complaint::usage(format!(
                    "failed to create a mount namespace: {error}; run as root, outside of a \
                     container that forbids it, or use existing directories"
                ))
            })?;
        }
        let (root, volumes, restless) = (root.clone(), BTreeMap::new(), None);
        Ok(Self { root, label, made: volumes, data_dir, named: locks, restless })
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// A device of volumes, by its path in the suite.
    pub(super) fn device(&self, path: &Path) -> Option<&DataDirLock> {
        self.named.get(path)
    }

    /// Properties of the data directory and the volumes that distort figures, each as a sentence.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.data_dir).chain(self.named.values()).flat_map(DataDirLock::warnings)
    }

    /// The location of a case's database: created for a load, existing for other cases.
    pub(super) fn site(&mut self, case: &Case) -> Result<DatabaseLocation, Complaint> {
        if case.makes_database() {
            self.remove(case)?;
            self.make(case)?;
        }
        let mut site = self.locate(case)?;
        site.not_measured.extend(self.restless.take());
        Ok(site)
    }

    /// The location of a database that was made.
    pub(super) fn locate(&mut self, case: &Case) -> Result<DatabaseLocation, Complaint> {
        let (root, id) = (self.root.clone(), &case.database.id);
        if let Some(fresh) = self.made.get(id) {
            let (engine::Location::Directory(path) | engine::Location::Device(path)) =
                fresh.location()
            else {
                return Err(unlocked_error(Path::new(id)));
            };
            let (mut site, _) = look(&root, path.clone())?;
            site.not_measured.extend(double_caching(fresh.record()));
            return Ok(DatabaseLocation { volume: Some(fresh.record().clone()), ..site });
        }
        let claim = self.claim(case);
        claim.check(&root)?;
        if let Some(server) = &case.server {
            let (path, not_measured) = (claim.database(id)?, vec![unmeasured_values(server)]);
            return Ok(DatabaseLocation {
                path,
                device: None,
                not_measured,
                volume: None,
                copy: None,
            });
        }
        let path = claim.database(id)?;
        self.locate_in_directory(case, path)
    }

    /// A database in a directory: of the run, or of a volume.
    pub(super) fn locate_in_directory(
        &self,
        case: &Case,
        path: PathBuf,
    ) -> Result<DatabaseLocation, Complaint> {
        let (site, storage) = look(&self.root, path)?;
        let volume = case.volume.as_ref().map(|volume| VolumeRecord {
            name: volume.name.clone(),
            device: site.device.as_ref().map(|device| device.name.clone()),
            filesystem: Some(storage.filesystem()),
            drive: storage.drive(&self.root),
            ..VolumeRecord::default()
        });
        Ok(DatabaseLocation { volume, ..site })
    }

    /// The directory in which a case's database is made; none on a device.
    pub(super) fn database_directory(&mut self, case: &Case) -> Option<PathBuf> {
        let data_dir = self.claim(case).path();
        (!raw::is_device(data_dir)).then(|| data_dir.to_owned())
    }

    /// Copies a case's database from `original`, for this case. `go_on` receives the copied bytes;
    /// it returns false to stop.
    pub(super) fn copy(
        &mut self,
        case: &Case,
        original: DatabaseLocation,
        state: Option<StateOrigin>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<DatabaseLocation, Complaint> {
        self.remove_copy(case)?;
        let path = self.make_copy_dir(case)?;
        let copying = if case.writes() { Copying::Copy } else { Copying::Reflink };
        let copied = copy::database(&original.path, &path, copying, go_on);
        let (record, warm) = copied.inspect_err(|_| {
            let _ = self.remove_copy(case);
        })?;
        let mut site =
            DatabaseLocation { path, copy: Some(CopyRecord { state, ..record }), ..original };
        site.not_measured.extend(warm);
        site.not_measured.extend(self.restless.take());
        Ok(site)
    }

    fn make_copy_dir(&mut self, case: &Case) -> Result<PathBuf, Complaint> {
        match self.made.get(&case.database.id).and_then(Fresh::copy) {
            Some(path) => {
                fs::create_dir(&path).map_err(examine_error(&path))?;
                Ok(path)
            }
            None => Ok(self.claim(case).database(&case.id)?),
        }
    }

    /// Removes the copy of a case, if there is one.
    pub(super) fn remove_copy(&mut self, case: &Case) -> Result<(), Complaint> {
        let Some(path) = self.made.get(&case.database.id).and_then(Fresh::copy) else {
            return self.remove_from_data_dir(case, &case.id);
        };
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(examine_error(&path)(source))
            }
            _ => Ok(()),
        }
    }

    /// The lock through which a case's database is created.
    fn claim(&mut self, case: &Case) -> &mut DataDirLock {
        let path = case.volume.as_ref().and_then(|volume| match &volume.medium {
            Medium::Directory { path } => Some(path),
            Medium::Loop { directory, .. } => directory.as_ref(),
            Medium::Device { .. } => None,
        });
        match path.and_then(|path| self.named.get_mut(path)) {
            Some(claim) => claim,
            None => &mut self.data_dir,
        }
    }

    fn make(&mut self, case: &Case) -> Result<(), Complaint> {
        let Some(volume) = &case.volume else { return Ok(()) };
        let (root, id, name) = (&self.root, &case.database.id, &volume.name);
        let fresh = match &volume.medium {
            Medium::Directory { .. } => return Ok(()),
            Medium::Loop { directory, bytes, format } => {
                let data_dir = directory.as_ref().and_then(|path| self.named.get_mut(path));
                let dir = &data_dir.unwrap_or(&mut self.data_dir).database(id)?;
                Fresh::make_on_loop(root, VolumeSpec { name, format, dir }, *bytes)
            }
            Medium::Device { path, discard, format } => {
                let claim = self.named.get(path).ok_or_else(|| unlocked_error(path))?;
                // Another process may have begun to use it since the last case.
                claim.check(root)?;
                let dir = &self.data_dir.database(id)?;
                let spec = VolumeSpec { name, format, dir };
                // The kernel's name of the device, as when it was locked.
                Fresh::make_on_device(root, spec, claim.path(), *discard, &self.label)
            }
        };
        let fresh = fresh.map_err(volume_error(name)).inspect_err(|_| {
            let _ = self.claim(case).remove_database(id);
        })?;
        self.made.insert(id.clone(), fresh);
        Ok(())
    }

    /// Removes a case's database, and the volume created for it.
    pub(super) fn remove(&mut self, case: &Case) -> Result<(), Complaint> {
        let id = &case.database.id;
        let name = case.volume.as_ref().map_or("", |volume| &volume.name);
        let removed = self.made.remove(id).map_or(Ok(()), Fresh::remove);
        self.remove_from_data_dir(case, id)?;
        removed.map_err(volume_error(name))
    }

    /// Removes a database, and waits until the drive is idle: the next measurement must not pay for
    /// the removal.
    fn remove_from_data_dir(&mut self, case: &Case, id: &str) -> Result<(), Complaint> {
        let root = self.root.clone();
        let claim = self.claim(case);
        let removed =
            claim.has_database(id).then(|| size::measure(&claim.database_path(id)).ok()).flatten();
        claim.remove_database(id)?;
        let data_dir = claim.path().to_owned();
        let Some(bytes) = removed.map(|size| size.used_bytes).filter(|&bytes| bytes >= REST_BYTES)
        else {
            return Ok(());
        };
        let synced = cache::sync_volume(&data_dir).is_ok();
        let device = look(&root, data_dir).ok().and_then(|(site, _)| site.device);
        let rested = synced && device.is_none_or(|device| device.wait_until_idle(REST_LIMIT));
        self.restless = (!rested).then(|| {
            let (seconds, bytes) = (REST_LIMIT.as_secs(), units::bytes(bytes));
            format!("the drive was still at work {seconds} s after {bytes} were removed before it")
        });
        Ok(())
    }

    /// Restores and releases everything.
    pub(crate) fn release(self) -> Result<(), Complaint> {
        let Self { data_dir, named, made, .. } = self;
        let mut first = Ok(());
        for fresh in made.into_values() {
            let name = fresh.record().name.clone();
            first = first.and(fresh.remove().map_err(volume_error(&name)));
        }
        for claim in named.into_values().chain([data_dir]) {
            first = first.and(claim.release().map_err(Complaint::from));
        }
        first
    }
}

/// The user's files that a case reads.
fn read_files(case: &Case) -> impl Iterator<Item = &Path> {
    let library = case.library.as_ref().map(|library| library.path.as_path());
    let loads = case.phases.iter().filter_map(|phase| match &phase.work {
        Activity::Load(load) => load.replay.as_ref(),
        _ => None,
    });
    let traces = loads.chain(replays(&case.phases)).map(|replay| replay.file.as_path());
    library.into_iter().chain(traces)
}

/// Values of an attached server that cannot be measured.
fn unmeasured_values(server: &AttachedServer) -> String {
    format!(
        "CPU, memory, I/O, size and cache state of the server: kvdyno does not run it, at {}; its \
         writes were not synced",
        server.host
    )
}

/// The reason why a volume of the suite cannot be created or removed.
fn volume_error(name: &str) -> impl Fn(FreshError) -> Complaint {
    move |error| Complaint::usage(format!("volume `{name}`: {error}"))
}

fn examine_error(path: &Path) -> impl Fn(io::Error) -> Complaint {
    move |error| Complaint::usage(format!("failed to examine {}: {error}", path.display()))
}

fn unlocked_error(path: &Path) -> Complaint {
    examine_error(path)(io::Error::other("it is not locked for this run"))
}

fn is_mounted(medium: &Medium) -> bool {
    match medium {
        Medium::Directory { .. } => false,
        Medium::Loop { format, .. } | Medium::Device { format, .. } => *format != Format::Raw,
    }
}

fn look(root: &Root, path: PathBuf) -> Result<(DatabaseLocation, Storage), Complaint> {
    let storage = Storage::from_path(root, &path).map_err(examine_error(&path))?;
    let reason = storage.check_counters(root).err();
    let not_measured = reason.map(|reason| format!("device reads and writes: {reason}"));
    let not_measured = not_measured.into_iter().collect();
    let device = storage.device.as_ref().ok().cloned();
    Ok((DatabaseLocation { path, device, not_measured, volume: None, copy: None }, storage))
}

/// Returns a sentence about a loop device that reads its image through the page cache: no limit
/// counts the cached copy.
fn double_caching(record: &VolumeRecord) -> Option<String> {
    let image = record.image.as_ref().filter(|image| !image.direct_io)?;
    Some(format!(
        "reads from the drive: {} does not support direct I/O, so the image's pages are cached \
         once more, outside of any limit",
        image.storage
    ))
}
