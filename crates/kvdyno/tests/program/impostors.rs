//! Servers that are not what they should be, or are malicious: excessive lengths, other protocols.

use super::attached::{attached, whole};
use super::scratch::{Done, Scratch};
use super::workers::needs_worker;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::spawn;

/// Memory limit of the program and of each worker, for threads and buffers. A reply of a GiB would
/// need many times as much.
const DATA_BYTES_MAX: usize = 128 << 20;

/// A longer text is not sent.
const SENT_BYTES_MAX: usize = 512 << 20;

/// The replies of a fake server: the first on connection, then one for each request; after the
/// last, endless zeros.
#[derive(Clone, Copy, Debug)]
struct Script {
    engine: &'static str,
    first: &'static [u8],
    then: &'static [&'static [u8]],
}

const fn script(
    engine: &'static str,
    first: &'static [u8],
    then: &'static [&'static [u8]],
) -> Script {
    Script { engine, first, then }
}

struct Impostor {
    port: u16,
}

impl Impostor {
    fn start(Script { first, then, .. }: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may disconnect.
                spawn(move || drop(speak(stream, first, then)));
            }
        });
        Self { port }
    }
}

fn speak(mut stream: TcpStream, first: &[u8], then: &[&[u8]]) -> std::io::Result<()> {
    stream.write_all(first)?;
    let (mut buffer, zeros) = ([0; 4096], vec![0; 1 << 20]);
    for words in then {
        if stream.read(&mut buffer)? == 0 {
            return Ok(());
        }
        stream.write_all(words)?;
    }
    for _ in 0..SENT_BYTES_MAX / zeros.len() {
        stream.write_all(&zeros)?;
    }
    Ok(())
}

/// Plans a run on such a server, with little memory.
fn plan(script: Script, user: &str) -> Done {
    let (server, scratch) = (Impostor::start(script), Scratch::new());
    let engine = script.engine;
    scratch.write("s.toml", &attached(&whole(engine), engine));
    let limit = format!("--data={DATA_BYTES_MAX}");
    let mut command = scratch.kvdyno_by(&["prlimit", &limit], &["plan", "s.toml"]);
    let scheme = if engine == "mariadb" { "mysql" } else { engine };
    command.env("THEIR_URL", format!("{scheme}://{user}@127.0.0.1:{}/", server.port));
    let done = scratch.start(command).wait();
    scratch.assert_nothing_left();
    done
}

/// A message without its line breaks.
fn unwrapped(text: &str) -> String {
    text.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_server_that_announces_more_than_memory_is_refused_before_it_costs_any() {
    let test = "a_server_that_announces_more_than_memory_is_refused_before_it_costs_any";
    let scripts = [
        script("redis", b"", &[b"$536870912\r\n"]),
        script("redis", b"", &[b"+OK\r\n", b"$536870912\r\n"]),
        script("redis", b"", &[b"+"]),
        script("postgres", b"", &[b"R\x3f\xff\xff\xff"]),
        // Come in, and ask.
        script("postgres", b"", &[b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", b"D\x3f\xff\xff\xff"]),
        script("mariadb", b"\xfe\xff\xff\0\x0a", &[]),
        script("mariadb", b"\xff\xff\xff\0\x0a", &[]),
        script("mongodb", b"", &[b"\xff\xff\xff\x7f"]),
        script("mongodb", b"", &[b"\0\0\xdc\x02"]),
    ];
    for script in scripts.into_iter().filter(|script| needs_worker(script.engine, test)) {
        let done = plan(script, "me");
        done.assert_code(2);
        let output = unwrapped(&done.err);
        assert!(output.contains("65536"), "{script:?}: {output}");
    }
}

/// The secret.
const SECRET: &str = "s3cr3t-pa55word";

/// An address with common mistakes: a password alone, in the clear, with characters that end a
/// host; in the variable, and instead of its name.
#[test]
fn no_message_has_a_password() {
    let test = "no_message_has_a_password";
    let schemes = [
        ("redis", "redis"),
        ("redis", "rediss"),
        ("postgres", "postgres"),
        ("mariadb", "mysql"),
        ("mongodb", "mongodb"),
    ];
    for (engine, scheme) in schemes.into_iter().filter(|(engine, _)| needs_worker(engine, test)) {
        let scratch = Scratch::new();
        let suite = attached(&whole(engine), engine);
        let wrong = [
            format!("{scheme}://{SECRET}"),
            format!("{scheme}://{SECRET}/"),
            format!("{scheme}://me:{SECRET}"),
            format!("{scheme}://me:{SECRET}/x#y@127.0.0.1:1/"),
            format!("{scheme}://me:{SECRET}@127.0.0.1:1/"),
            format!("other://me:{SECRET}@127.0.0.1:1/"),
        ];
        for url in &wrong {
            let refused = |suite: &str, more: &[&str]| {
                scratch.write("s.toml", suite);
                let mut command = scratch.kvdyno(&[&["plan", "s.toml"], more].concat());
                command.env("THEIR_URL", url);
                let done = scratch.start(command).wait();
                done.assert_code(2);
                let output = done.out + &done.err;
                assert!(!output.contains(SECRET), "{url}: {output}");
                output
            };
            let output = unwrapped(&refused(&suite, &[]));
            assert!(output.contains("THEIR_URL"), "{output}");
            let typed = suite.replace("env:THEIR_URL", url);
            assert!(refused(&typed, &[]).contains("env:NAME"));
            refused(&suite.replace("env:THEIR_URL", &format!("env:{url}")), &[]);
            // In a line next to the wrong one, and in one that is no TOML.
            refused(&typed.replace("label =", "lable ="), &[]);
            refused(&format!("{suite}\nx = {url}"), &[]);
            refused(&suite, &["--set", &format!("engine.{engine}.server.attach={url}")]);
            refused(&suite, &["--set", &format!("engine.{engine}.server={url}")]);
        }
        assert_eq!(scratch.runs(), Vec::<std::path::PathBuf>::new());
    }
}

const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/// A server with another protocol is reported as such, not as a wrong password.
#[test]
fn words_of_another_protocol_are_called_that() {
    let test = "words_of_another_protocol_are_called_that";
    let scripts = [
        (script("redis", b"", &[HTTP]), "byte 0x48"),
        (script("mariadb", HTTP, &[]), "unexpected answer"),
        (script("mariadb", b"\x05\0\0\0hello", &[]), "greeting"),
        (script("postgres", b"", &[HTTP]), "unexpected answer"),
        (script("mongodb", b"", &[HTTP]), "unexpected answer"),
    ];
    for (script, why) in scripts.into_iter().filter(|(one, _)| needs_worker(one.engine, test)) {
        let done = plan(script, &format!("me:{SECRET}"));
        done.assert_code(2);
        let output = unwrapped(&done.err);
        assert!(output.contains(why), "{script:?}: {output}");
        assert!(!output.contains("password") && !output.contains(SECRET), "{output}");
    }
}
