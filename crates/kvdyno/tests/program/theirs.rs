//! Attached servers for tests: real ones, at ports of this machine, with passwords and TLS. A
//! supervisor creates their data; then kvdyno no longer runs them.

use super::scratch::wait_until;
use super::workers;
use kvdyno_record::engine::{DataShape, Durability, Location, Options, Value, library};
use kvdyno_record::protocol::{Event, ServerJob, SupervisorOrder, WorkerDescription};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A running server.
pub(crate) struct AttachedServer {
    child: Child,
    pub(crate) port: u16,
    /// The port at which Redis uses TLS; others use `port`.
    pub(crate) hidden_port: u16,
    pub(crate) secret: String,
    dir: TempDir,
}

impl Drop for AttachedServer {
    fn drop(&mut self) {
        // Its supervisor, if it has one, ends it; else the signal does.
        if self.child.stdin.take().is_none() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        if wait_for(&mut self.child).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn wait_for(child: &mut Child) -> Option<()> {
    for _ in 0..1000 {
        if child.try_wait().ok()?.is_some() {
            return Some(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    None
}

impl AttachedServer {
    /// One at a port, with a password and TLS.
    pub(crate) fn start(engine: &str) -> Self {
        let (mut theirs, command) = Self::kept(engine);
        certify(theirs.dir.path());
        match engine {
            "redis" => theirs.hide_redis(),
            "postgres" => theirs.hide_postgres(),
            _ => theirs.hide_mariadb(&command),
        }
        theirs
    }

    /// Started by a supervisor, without TLS; and its command.
    fn kept(engine: &str) -> (Self, Vec<String>) {
        let worker = workers::find(engine).unwrap();
        let dir = tempfile::Builder::new().prefix("kvdyno-theirs-").tempdir_in("/var/tmp");
        let dir = dir.unwrap();
        let described = Command::new(&worker).arg("describe").output().unwrap();
        let described: WorkerDescription = serde_json::from_slice(&described.stdout).unwrap();
        let mut options = Options::defaults(&described.engine, Durability::Commit);
        options.values.insert("listen".to_owned(), Value::Text("tcp".to_owned()));
        let shape = DataShape {
            records: 0,
            records_max: 0,
            key_bytes: 16,
            value_bytes_mean: 0,
            value_bytes_max: 0,
            sessions: 16,
            depth: 1,
            requests: None,
        };
        let job = ServerJob {
            location: Location::Directory(dir.path().to_owned()),
            address: None,
            options,
            shape,
            database: String::new(),
        };
        let mut supervisor = Command::new(worker);
        supervisor.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = supervisor.spawn().unwrap();
        let order = serde_json::to_string(&SupervisorOrder::Serve(job)).unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{order}").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let Event::Serving { address, command, .. } = serde_json::from_str(&line).unwrap() else {
            panic!("{line}")
        };
        let (secret, host_and_port) =
            address.strip_prefix("tcp://:").unwrap().split_once('@').unwrap();
        let port = host_and_port.rsplit_once(':').unwrap().1.parse().unwrap();
        let (hidden_port, secret) = (free_port(), secret.to_owned());
        (Self { child, port, hidden_port, secret, dir }, command)
    }

    /// A file of its directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The certificate authority.
    pub(crate) fn authority(&self) -> String {
        self.file("ca.pem").display().to_string()
    }

    /// Redis replies to commands.
    pub(crate) fn redis(&self, commands: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "AUTH {}\r\n{commands}QUIT\r\n", self.secret).unwrap();
        let mut output = String::new();
        stream.read_to_string(&mut output).unwrap();
        output
    }

    /// It listens at its port in the clear, and at another with TLS.
    fn hide_redis(&self) {
        let output = self.redis(&format!(
            "CONFIG SET tls-cert-file {cert} tls-key-file {key} tls-ca-cert-file {cert} \
             tls-auth-clients no tls-port {port}\r\n",
            cert = self.file("cert.pem").display(),
            key = self.file("key.pem").display(),
            port = self.hidden_port,
        ));
        assert_eq!(output.matches("+OK").count(), 3, "{output}");
    }

    fn hide_postgres(&self) {
        let data = self.file("data");
        for name in ["cert.pem", "key.pem"] {
            fs::copy(self.file(name), data.join(name)).unwrap();
        }
        fs::set_permissions(data.join("key.pem"), fs::Permissions::from_mode(0o600)).unwrap();
        let set = "ssl = on\nssl_cert_file = 'cert.pem'\nssl_key_file = 'key.pem'\n";
        fs::write(data.join("postgresql.auto.conf"), set).unwrap();
        // Connections in the clear are refused.
        let hba = "hostssl all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
        let pid = fs::read_to_string(data.join("postmaster.pid")).unwrap();
        let pid = Pid::from_raw(pid.lines().next().unwrap().parse().unwrap()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        // It replies S to a request for TLS.
        wait_until("it has TLS", || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).unwrap();
            let mut output = [0];
            stream.read_exact(&mut output).unwrap();
            output == *b"S"
        });
    }

    /// It reads the TLS settings at its next start.
    fn hide_mariadb(&mut self, command: &[String]) {
        drop(self.child.stdin.take());
        wait_for(&mut self.child).unwrap();
        let program = Path::new(&command[0]);
        let mut again = Command::new(program);
        again.args(&command[1..]).current_dir(self.dir.path());
        for (name, file) in [("ssl-cert", "cert.pem"), ("ssl-key", "key.pem")] {
            again.arg(format!("--{name}={}", self.file(file).display()));
        }
        again.env("LD_LIBRARY_PATH", library::bundled_library_dirs(program).join(":"));
        again.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = again.spawn().unwrap();
        wait_until("it answers", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }
}

/// A certificate of localhost, its key, and the authority that vouches for it.
fn certify(dir: &Path) {
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let vouched = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let of_host = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let cert = of_host.signed_by(&key, &issuer).unwrap();
    for (name, text) in
        [("ca.pem", vouched.pem()), ("cert.pem", cert.pem()), ("key.pem", key.serialize_pem())]
    {
        fs::write(dir.join(name), text).unwrap();
    }
}

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
