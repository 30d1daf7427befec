//! Block devices that must not be changed, on real loop devices. Each refusal leaves every byte
//! unchanged, for any name of the device.

use super::locations::can_mount;
use super::scratch::{Done, Scratch, records};
use super::workers::{needs, needs_root, report_skip};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BYTES: u64 = 32 << 20;

/// A loop device of a test, removed at its end.
pub(crate) struct Loop {
    pub(crate) path: String,
    image: PathBuf,
}

impl Loop {
    pub(crate) fn new(scratch: &Scratch, test: &str) -> Option<Self> {
        Self::with_name(scratch, test, "image", BYTES)
    }

    /// One with an image called `name`.
    pub(crate) fn with_name(scratch: &Scratch, test: &str, name: &str, bytes: u64) -> Option<Self> {
        if !needs_root(test) || !needs("drive", test) {
            return None;
        }
        let image = scratch.path(name);
        File::create(&image).unwrap().set_len(bytes).unwrap();
        match output("losetup", &["-P", "-f", "--show", image.to_str().unwrap()]) {
            Some(path) => Some(Self { path: path.trim().to_owned(), image }),
            None => {
                report_skip("loop", test, "no loop device can be made");
                None
            }
        }
    }

    pub(crate) fn confirm(&self) -> String {
        format!("--destroy-data-on={}", self.path)
    }

    /// The mounts of a killed run disappear a moment after it.
    pub(crate) fn wait_until_free(&self) {
        let open = || File::options().write(true).custom_flags(libc_o_excl()).open(&self.path);
        super::scratch::wait_until("nobody has it exclusively", || open().is_ok());
    }

    /// Its beginning, with the signatures of filesystems and engines.
    pub(crate) fn is_blank(&self) -> bool {
        let mut bytes = vec![0; 1 << 20];
        File::open(&self.path).unwrap().read_exact(&mut bytes).unwrap();
        bytes.iter().all(|byte| *byte == 0)
    }

    /// Its contents, by its backing file.
    pub(crate) fn content(&self) -> Vec<u8> {
        File::open(&self.path).unwrap().sync_all().unwrap();
        let mut bytes = Vec::new();
        File::open(&self.image).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// `kvdyno drive` refuses it with this message, and leaves it unchanged.
    #[track_caller]
    fn assert_refused(&self, scratch: &Scratch, arguments: &[&str], words: &[&str]) {
        let arguments: Vec<&str> = ["drive"].into_iter().chain(arguments.iter().copied()).collect();
        self.assert_untouched(scratch, &arguments, words);
    }

    /// The program refuses it with this message, and leaves it unchanged.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, scratch: &Scratch, arguments: &[&str], words: &[&str]) {
        self.assert_untouched_by(scratch, scratch.kvdyno(arguments), words);
    }

    /// The same of a command that is started here.
    #[track_caller]
    pub(crate) fn assert_untouched_by(&self, scratch: &Scratch, run: Command, words: &[&str]) {
        let before = self.content();
        let done = scratch.start(run).wait();
        done.assert_code(2);
        for words in words {
            done.assert_says(words);
        }
        assert!(self.content() == before, "{} was written to", self.path);
        assert!(scratch.runs().is_empty(), "a run was begun");
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // The flag may outlive the image.
        let _ = output("blockdev", &["--setrw", &self.path]);
        let _ = output("losetup", &["-d", &self.path]);
    }
}

/// Makes a directory, and the command that mounts a device on it. Read-only: otherwise a mounted
/// filesystem writes by itself. It is for a namespace of its own: one in which others run hands the
/// mount on to each namespace that they make meanwhile, and there it outlives its removal.
pub(crate) fn mounting(device: &str, point: &Path) -> String {
    fs::create_dir_all(point).unwrap();
    format!("mount -o ro,noload '{device}' '{}'", point.display())
}

pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

const SHORT: [&str; 8] =
    ["--duration", "300ms", "--warmup", "100ms", "--trials", "1", "--depth", "4"];

fn drive(scratch: &Scratch, arguments: &[&str]) -> Done {
    let all: Vec<&str> = ["drive"].iter().chain(arguments).chain(&SHORT).copied().collect();
    scratch.run(&all)
}

#[test]
fn a_clean_device_is_measured_once_its_name_is_typed_twice() {
    let scratch = Scratch::new();
    let test = "a_clean_device_is_measured_once_its_name_is_typed_twice";
    let Some(device) = Loop::new(&scratch, test) else { return };
    let path = device.path.as_str();
    device.assert_refused(&scratch, &[path], &[&device.confirm(), "--read-only"]);
    let another = "--destroy-data-on=/dev/null";
    device.assert_refused(&scratch, &[path, another], &["PATH", path]);
    drive(&scratch, &[path, &device.confirm(), "--rw", "randread,randwrite"]).assert_ok();
    let run = scratch.only_run();
    let cases = records(&run);
    assert_eq!(cases.len(), 3, "{:?}", cases.keys());
    assert!(cases.values().all(|case| case.outcome.as_str() == "done"), "{cases:?}");
    let load = cases.values().find(|case| case.case.threads.is_none()).unwrap();
    assert_eq!(load.case.data.records << 20, BYTES, "all of it");
    assert!(device.content().chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
    // kvdyno's own remains do not block the next run, and reading needs no write.
    let before = device.content();
    drive(&scratch, &[path, "--read-only"]).assert_ok();
    assert!(device.content() == before);
    drive(&scratch, &[path, &device.confirm()]).assert_ok();
}

#[test]
fn a_filesystem_is_not_overwritten_and_can_be_read() {
    let scratch = Scratch::new();
    let test = "a_filesystem_is_not_overwritten_and_can_be_read";
    let Some(device) = Loop::new(&scratch, test) else { return };
    if output("mkfs.ext4", &["-q", &device.path]).is_none() {
        return report_skip("mkfs", test, "no mkfs.ext4");
    }
    let words = ["ext4 filesystem (at byte 1080)", "wipefs -a"];
    device.assert_refused(&scratch, &[&device.path, &device.confirm()], &words);
    let before = device.content();
    drive(&scratch, &[&device.path, "--read-only"]).assert_ok();
    assert!(device.content() == before, "reading wrote");
    let writes = ["drive", &device.path, "--read-only", "--rw", "randwrite"];
    scratch.run(&writes).assert_code(2);
}

#[test]
fn what_somebody_puts_on_it_between_two_cases_stays() {
    let scratch = Scratch::new();
    let test = "what_somebody_puts_on_it_between_two_cases_stays";
    let Some(device) = Loop::new(&scratch, test) else { return };
    let confirm = device.confirm();
    let mut arguments = vec!["drive", &device.path, &confirm, "--rw", "randread"];
    arguments.extend(["--duration", "2s", "--warmup", "100ms", "--trials", "2", "--depth", "1,4"]);
    let running = scratch.start(scratch.kvdyno(&arguments));
    scratch.wait_for_phase("randread", "measure");
    let file = File::options().write(true).open(&device.path).unwrap();
    file.write_all_at(b"XFSB", 0).unwrap();
    file.sync_all().unwrap();
    let before = device.content();
    running.wait().assert_says("an XFS filesystem");
    assert!(device.content() == before, "{} was written to", device.path);
    let cases = records(&scratch.only_run());
    let messages = cases.values().filter_map(|case| case.outcome.message());
    assert_eq!(messages.filter(|words| words.contains("an XFS filesystem")).count(), 3);
}

#[test]
fn a_mounted_device_is_refused_by_whatever_name() {
    let scratch = Scratch::new();
    let test = "a_mounted_device_is_refused_by_whatever_name";
    let Some(device) = Loop::new(&scratch, test) else { return };
    if !can_mount(test) || output("mkfs.ext4", &["-q", &device.path]).is_none() {
        return report_skip("mount", test, "no ext4 can be mounted");
    }
    let point = scratch.path("point");
    let mounting = mounting(&device.path, &point);
    let refused = |name: &str, words: &[&str]| {
        let confirm = format!("--destroy-data-on={name}");
        let run = scratch.kvdyno_after(&mounting, &["drive", name, &confirm]);
        device.assert_untouched_by(&scratch, run, words);
    };
    let says = format!("{} is mounted at {}", device.path, point.display());
    refused(&device.path, &[&says, "umount"]);
    let outside = scratch.path("link");
    std::os::unix::fs::symlink(&device.path, &outside).unwrap();
    refused(outside.to_str().unwrap(), &["expected its full name", &device.path]);
    let link = format!("/dev/kvdyno-test-{}", std::process::id());
    std::os::unix::fs::symlink(&device.path, &link).unwrap();
    let by_link = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        refused(&link, &[&format!("{link} (which is {})", device.path), &says]);
    }));
    fs::remove_file(link).unwrap();
    by_link.unwrap();
}

/// A DOS partition table with one partition from 1 MiB on.
fn partition(device: &Loop) {
    let mut sector = [0_u8; 512];
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&((BYTES >> 9) as u32 - 2048).to_le_bytes());
    sector[510..].copy_from_slice(b"\x55\xaa");
    let file = File::options().write(true).open(&device.path).unwrap();
    file.write_all_at(&sector, 0).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_partitioned_disk_is_refused_and_more_so_when_a_partition_is_mounted() {
    let scratch = Scratch::new();
    let test = "a_partitioned_disk_is_refused_and_more_so_when_a_partition_is_mounted";
    let Some(device) = Loop::new(&scratch, test) else { return };
    partition(&device);
    let disk = [device.path.as_str(), &device.confirm()];
    device.assert_refused(&scratch, &disk, &["a partition table", "wipefs -a"]);
    let part = format!("{}p1", device.path);
    let _ = output("partx", &["-a", &device.path]);
    if !Path::new(&part).exists() || output("mkfs.ext4", &["-q", &part]).is_none() {
        return report_skip("partitions", test, "the kernel shows no partitions of loop devices");
    }
    let confirm = format!("--destroy-data-on={part}");
    device.assert_refused(&scratch, &[&part, &confirm], &["ext4 filesystem", &part]);
    let mounting = mounting(&part, &scratch.path("point"));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for arguments in [[&*disk[0], disk[1]], [&part, &confirm]] {
            let run = scratch.kvdyno_after(&mounting, &["drive", arguments[0], arguments[1]]);
            device.assert_untouched_by(&scratch, run, &[&format!("{part} is mounted at")]);
        }
    }));
    let _ = output("partx", &["-d", &device.path]);
    refused.unwrap();
}

#[test]
fn what_others_use_is_refused() {
    let scratch = Scratch::new();
    let test = "what_others_use_is_refused";
    let Some(device) = Loop::new(&scratch, test) else { return };
    let arguments = [device.path.as_str(), &device.confirm()];
    {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc_o_excl());
        let _held = options.open(&device.path).unwrap();
        device.assert_refused(&scratch, &arguments, &["open exclusively", "fuser"]);
    }
    let upper = output("losetup", &["-f", "--show", &device.path]).unwrap();
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let words = [&*format!("{} has {} as its file", upper.trim(), device.path), "losetup -d"];
        device.assert_refused(&scratch, &arguments, &words);
    }));
    let _ = output("losetup", &["-d", upper.trim()]);
    refused.unwrap();
    if output("mkswap", &["-q", &device.path]).is_some() {
        device.assert_refused(&scratch, &arguments, &["swap space (at byte 4086)"]);
    }
}

fn libc_o_excl() -> i32 {
    rustix::fs::OFlags::EXCL.bits().cast_signed()
}

#[test]
fn other_commands_do_not_take_a_device() {
    let scratch = Scratch::new();
    let test = "other_commands_do_not_take_a_device";
    let Some(device) = Loop::new(&scratch, test) else { return };
    scratch.write("s.toml", &super::suites::reads().engine("null").text());
    let done = scratch.run(&["run", "s.toml", "--data-dir", &device.path]);
    done.assert_code(2).assert_says("block device");
}

/// Refused before anything starts, with the reason.
#[test]
fn a_read_only_device_and_a_node_of_ones_own_are_refused() {
    let test = "a_read_only_device_and_a_node_of_ones_own_are_refused";
    let scratch = Scratch::new();
    let Some(device) = Loop::new(&scratch, test) else { return };
    let node = scratch.path("node");
    let number = output("stat", &["-c", "%Hr %Lr", &device.path]).unwrap();
    let (major, minor) = number.trim().split_once(' ').unwrap();
    output("mknod", &[node.to_str().unwrap(), "b", major, minor]).unwrap();
    let confirm = format!("--destroy-data-on={}", node.display());
    let words = ["is a device node outside /dev"];
    device.assert_refused(&scratch, &[node.to_str().unwrap(), &confirm], &words);
    output("blockdev", &["--setro", &device.path]).unwrap();
    let words = ["is read-only", "blockdev --setrw"];
    device.assert_refused(&scratch, &[&device.path, &device.confirm()], &words);
    // `plan` reports it, too.
    let lines = format!("kind = \"device\"\nfilesystem = \"ext4\"\npath = \"{}\"", device.path);
    scratch.write("s.toml", &super::suites::reads().volume("v", &lines).engine("lmdb").text());
    let confirm = device.confirm();
    for command in [&["plan", "s.toml"][..], &["run", "s.toml", &confirm]] {
        scratch.run(command).assert_code(2).assert_says("volume `v`").assert_says("is read-only");
    }
    output("blockdev", &["--setrw", &device.path]).unwrap();
    assert!(scratch.runs().is_empty());
}
