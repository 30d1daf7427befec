//! One suite on many machines: started as the docs say, by the real programs, on hosts that are
//! names of this machine, each with a home and an `sshd` or `slurmd` of its own.

use crate::readme::block_below;
use crate::scratch::{Scratch, list, wait_until};
use crate::suites::{GET, suite};
use crate::theirs::free_port;
use crate::workers::{self, needs_root, null_is_a_debug_build, report_skip};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const HOSTS: usize = 5;

fn has(programs: &[&str], test: &str) -> bool {
    if !needs_root(test) {
        return false;
    }
    let is_installed = |name: &&&str| {
        ["/usr/bin", "/usr/sbin"].iter().any(|dir| Path::new(dir).join(name).exists())
    };
    let missing: Vec<_> = programs.iter().filter(|name| !is_installed(name)).collect();
    if !missing.is_empty() {
        report_skip("fleet", test, &format!("not installed: {missing:?}"));
    }
    missing.is_empty()
}

fn recipe(heading: &str) -> String {
    block_below("docs/fleet.md", heading)
}

fn wait_for(port: u16) {
    wait_until(&format!("port {port} answers"), || TcpStream::connect(("127.0.0.1", port)).is_ok());
}

fn nightly() -> String {
    suite()
        .engine_as("null", "null", "latency_ns = 1_000")
        .load("batch = 500")
        .measure("operations = 2_000")
        .role("readers", GET)
        .text()
}

/// Programs that somebody else has running; gone with this.
struct Fleet {
    scratch: Scratch,
    running: Vec<Child>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Fleet {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("bin")).unwrap();
        // Homes are mounted over, and what is built may lie in one.
        fs::copy(workers::program(), scratch.path("bin/kvdyno")).unwrap();
        fs::copy(workers::null(), scratch.path("bin/kvdyno-null")).unwrap();
        scratch.write("nightly.toml", &nightly());
        Self { scratch, running: Vec::new() }
    }

    /// A shell with mounts of its own; `home` in place of this user's.
    fn shell(&self, home: &str, script: &str) -> Command {
        let dir = self.scratch.path("").display().to_string();
        let whole = format!(
            "set -e; mkdir -p {home}; mount --bind {home} \"$HOME\"; mount -t tmpfs none /run\n\
             mkdir /run/sshd; {script}"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--uts", "--propagation", "private", "bash", "-c", &whole]);
        command.current_dir(&dir).stdin(Stdio::null());
        command.env("PATH", format!("{dir}/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
        command.env("HOME", "/root").env("SLURM_CONF", format!("{dir}/slurm.conf"));
        command
    }

    fn start(&mut self, mut command: Command, log: &str) {
        let log = fs::File::create(self.scratch.path(log)).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.running.push(command.spawn().unwrap());
    }

    /// Hosts that `ssh` knows as n1 to n5, in `hosts`.
    fn with_ssh() -> Self {
        let mut fleet = Self::new();
        let path = |name: &str| fleet.scratch.path(name).display().to_string();
        for key in ["own-key", "host-key"] {
            let path = path(key);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path])
                .status();
            assert!(made.unwrap().success());
        }
        let daemon = format!(
            "ListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n\
             SetEnv PATH={}:/usr/bin:/bin\n",
            path("host-key"),
            path("own-key.pub"),
            path("bin")
        );
        let config = path("sshd_config");
        fleet.scratch.write("sshd_config", &daemon);
        let mut ssh_config = format!(
            "Host *\nIdentityFile {}\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n\
             LogLevel ERROR\n",
            path("own-key")
        );
        let mut hosts = String::new();
        for host in 1..=HOSTS {
            let port = free_port();
            ssh_config += &format!("Host n{host}\nHostName 127.0.0.1\nPort {port}\n");
            hosts += &format!("n{host}\n");
            let script =
                format!("hostname n{host}; exec /usr/sbin/sshd -D -e -f {config} -p {port}");
            let command = fleet.shell(&format!("home-n{host}"), &script);
            fleet.start(command, &format!("sshd-{host}.log"));
            wait_for(port);
        }
        fs::create_dir_all(fleet.scratch.path("home/.ssh")).unwrap();
        fleet.scratch.write("home/.ssh/config", &ssh_config);
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(fleet.scratch.path("home/.ssh/config"), private).unwrap();
        fleet.scratch.write("hosts", &hosts);
        fleet
    }

    /// What is typed, at home.
    fn types(&self, script: &str) -> String {
        let output = self.shell("home", script).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        // Runs of a debug build end with 4, as does what shows them.
        assert!(output.status.success() || null_is_a_debug_build(), "{printed}");
        printed
    }

    /// All hosts' figures are in one table, and on the page.
    fn assert_shown(&self, printed: &str) {
        if null_is_a_debug_build() {
            assert!(printed.contains("debug-build"), "{printed}");
            return;
        }
        assert!(printed.contains(&format!("{HOSTS} hosts ran ")), "{printed}");
        let bundles: Vec<String> = (1..=HOSTS).map(|host| format!("n{host}.tar.zst")).collect();
        let show = |more: &[&str]| {
            let bundles = bundles.iter().map(String::as_str);
            let words: Vec<&str> = ["show"].into_iter().chain(bundles).collect();
            self.scratch.run(&[&words[..], &["--by", "host"], more].concat())
        };
        let fleet = show(&["--json"]).json();
        let names: Vec<&str> = fleet["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|host| host["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["n1", "n2", "n3", "n4", "n5"]);
        let spreads = fleet["figures"].as_array().unwrap();
        let rates = spreads.iter().find(|spread| spread["figure"] == "ops_per_s").unwrap();
        assert!(rates["values"].as_array().unwrap().iter().all(|rate| rate.as_f64() > Some(0.0)));
        assert_eq!(fleet["facts"], serde_json::json!([]), "they are one machine");
        show(&["--wide"]).assert_code(0).assert_says("n5").assert_says("ops_per_s");
        show(&["--html", "fleet.html"]).assert_code(0);
        let page = fs::read_to_string(self.scratch.path("fleet.html")).unwrap();
        assert!(page.len() > 100_000 && !page.contains("https://"));
    }
}

#[test]
fn a_fleet_by_gnu_parallel() {
    let test = "a_fleet_by_gnu_parallel";
    if !has(&["parallel", "sshd", "ssh", "scp"], test) {
        return;
    }
    let fleet = Fleet::with_ssh();
    let printed = fleet.types(&recipe("GNU parallel"));
    fleet.assert_shown(&printed);
}

#[test]
fn a_fleet_by_ansible() {
    let test = "a_fleet_by_ansible";
    if !has(&["ansible-playbook", "sshd", "ssh"], test) {
        return;
    }
    let fleet = Fleet::with_ssh();
    fleet.scratch.write("fleet.yml", &recipe("Ansible"));
    let printed = fleet.types(
        "ansible-playbook -i hosts fleet.yml > ansible.log || cat ansible.log
         kvdyno show *.tar.zst --by host",
    );
    fleet.assert_shown(&printed);
}

#[test]
fn a_fleet_by_slurm() {
    let test = "a_fleet_by_slurm";
    if !has(&["slurmctld", "slurmd", "sbatch", "srun", "munged"], test) {
        return;
    }
    let mut fleet = Fleet::new();
    let dir = fleet.scratch.path("").display().to_string();
    let dir = dir.trim_end_matches('/');
    let head = free_port();
    let nodes: Vec<u16> = (0..HOSTS).map(|_| free_port()).collect();
    let mut text = format!(
        "ClusterName=fleet\nSlurmctldHost=head(127.0.0.1)\nSlurmctldPort={head}\n\
         AuthType=auth/munge\nAuthInfo=socket={dir}/munge/socket\nCryptoType=crypto/munge\n\
         SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={dir}/state\n\
         SlurmdSpoolDir={dir}/spool-%n\nSlurmctldPidFile={dir}/head.pid\n\
         SlurmdPidFile={dir}/%n.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         MpiDefault=none\nReturnToService=2\nAccountingStorageType=accounting_storage/none\n\
         JobAcctGatherType=jobacct_gather/none\n"
    );
    for (host, port) in (1..).zip(&nodes) {
        text += &format!("NodeName=n{host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n");
    }
    text += "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
    fleet.scratch.write("slurm.conf", &text);
    fs::create_dir(fleet.scratch.path("state")).unwrap();
    let munge = fleet.shell(
        "home",
        "mkdir munge; chmod 700 munge; head -c 1024 /dev/urandom > munge/key; chmod 400 munge/key
         exec munged --force -F --key-file=$PWD/munge/key --socket=$PWD/munge/socket \
         --pid-file=$PWD/munge/pid --log-file=$PWD/munge/log --seed-file=$PWD/munge/seed",
    );
    fleet.start(munge, "munge.log");
    wait_until("munged listens", || fleet.scratch.path("munge/socket").exists());
    let command = fleet.shell("home-head", "hostname head; exec slurmctld -D");
    fleet.start(command, "head.log");
    wait_for(head);
    for (host, port) in (1..).zip(nodes) {
        let command =
            fleet.shell(&format!("home-n{host}"), &format!("hostname n{host}; exec slurmd -D"));
        fleet.start(command, &format!("slurmd-{host}.log"));
        wait_for(port);
    }
    wait_until("all nodes are idle", || {
        let idle = fleet.shell("home", "sinfo -h -t idle -o %D").output().unwrap();
        String::from_utf8_lossy(&idle.stdout).trim() == HOSTS.to_string()
    });
    fleet.scratch.write("fleet.sh", &recipe("Slurm"));
    let printed = fleet.types("sbatch fleet.sh || true; cat slurm-*.out");
    fleet.assert_shown(&printed);
}

#[test]
fn several_runs_are_not_shown_without_being_told_apart() {
    let scratch = Scratch::new();
    scratch.run(&["show", "one", "two"]).assert_code(2).assert_says("--by host");
    scratch.run(&["show", "one", "--html", "x.html"]).assert_code(2).assert_says("--by");
    scratch.run(&["show", "one", "--by", "host"]).assert_code(2).assert_says("no runs");
}

/// Runs of this machine under another machine's id, which the records must not tell.
#[test]
fn machines_that_are_called_alike_are_told_apart() {
    let test = "machines_that_are_called_alike_are_told_apart";
    if !needs_root(test) {
        return;
    }
    if !Path::new("/etc/machine-id").exists() {
        report_skip("fleet", test, "this machine has no /etc/machine-id");
        return;
    }
    let scratch = Scratch::new();
    scratch.write("nightly.toml", &nightly());
    let ids = ["3b0c1f52a7de4c0f9c51d1a0e1d2c3b4", "0123456789abcdef0123456789abcdef"];
    for (id, name) in ids.into_iter().zip(["one", "two"]) {
        scratch.write("id", &format!("{id}\n"));
        let mounting = "mount --bind id /etc/machine-id";
        let run = scratch.kvdyno_after(mounting, &["run", "nightly.toml", "-q", "--runs", name]);
        scratch.start(run).wait().assert_ok();
        let matches = Command::new("grep").args(["-rl", id]).arg(scratch.path(name)).output();
        assert_eq!(String::from_utf8_lossy(&matches.unwrap().stdout), "", "the id is in no file");
    }
    if null_is_a_debug_build() {
        return;
    }
    let run = |name: &str| format!("{name}/{}", list(&scratch.path(name)).remove(0));
    let (one, two) = (run("one"), run("two"));
    let fleet = scratch.run(&["show", &one, &two, "--by", "host", "--json"]).json();
    let hosts = fleet["hosts"].as_array().unwrap();
    let [first, second] = &hosts[..] else { panic!("{hosts:#?}") };
    let hostname = first["hostname"].as_str().unwrap();
    assert_eq!(first["name"], format!("{hostname} (1)"));
    assert_eq!(second["name"], format!("{hostname} (2)"));
    assert_ne!(first["machine_id"], second["machine_id"]);
    let shown = scratch.run(&["show", &one, &two, "--by", "host", "--wide"]);
    shown.assert_code(0).assert_says(hostname);
    let alone = scratch.run(&["show", &one, "--by", "host"]);
    assert!(!alone.out.contains("(1)") && !alone.out.contains("called"), "{}", alone.out);
}
