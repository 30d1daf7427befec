//! Servers that somebody runs elsewhere, for the clients of engines: their URLs, TLS, and proofs of
//! a password. A URL contains a secret, so suites, records and commands only name it, as
//! `env:NAME`.
//!
//! The protocols of the servers are not here: each client has its own.

mod scram;
mod tls;

pub use scram::Scram;

use kvdyno_engine::server::{Address, BY_NAME, Elsewhere, Secrecy, Secret};
use kvdyno_engine::{Error, Result};
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use std::sync::Arc;
use tls::Tls;
use url::Url;

/// The schemes of URLs, each with its usual port, and whether it implies TLS.
const SCHEMES: [(&str, u16, bool); 9] = [
    ("mariadb", 3306, false),
    ("mongodb", 27017, false),
    ("mysql", 3306, false),
    ("postgres", 5432, false),
    ("postgresql", 5432, false),
    ("redis", 6379, false),
    ("rediss", 6379, true),
    ("valkey", 6379, false),
    ("valkeys", 6379, true),
];

/// Reads the URL that `reference` names, which must have one of these schemes. `database` is the
/// name of our database on the server. No error message contains the URL's user or password.
pub fn resolve_reference(reference: &str, schemes: &[&str], database: &str) -> Result<Elsewhere> {
    let name =
        reference.strip_prefix(BY_NAME).filter(|name| !name.is_empty()).ok_or_else(|| {
            Error::invalid("expected `env:NAME`, the environment variable with the URL of a server")
        })?;
    let text = std::env::var(name).map_err(|_| {
        let example = schemes.first().copied().unwrap_or_default();
        Error::invalid(format!(
            "the environment variable {name} is not set: expected the server's URL, such as \
             {example}://USER:PASSWORD@HOST:PORT"
        ))
    })?;
    let about = |what: &str| Error::invalid(format!("the URL in {name}: {what}"));
    read(&text, schemes, &about).map(|there| Elsewhere {
        reference: reference.to_owned(),
        database: database.into(),
        ..there
    })
}

/// Returns the address of a server elsewhere.
pub fn address(remote: Elsewhere) -> Address {
    Address::Elsewhere(Arc::new(remote))
}

fn read(text: &str, schemes: &[&str], about: &dyn Fn(&str) -> Error) -> Result<Elsewhere> {
    let url = Url::parse(text).map_err(|error| about(&error.to_string()))?;
    let is_allowed = schemes.contains(&url.scheme());
    let scheme = SCHEMES.iter().find(|(scheme, ..)| *scheme == url.scheme()).filter(|_| is_allowed);
    let Some((_, usual, hidden)) = scheme else {
        let expected = schemes.iter().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>();
        return Err(about(&format!("its scheme is not {}", expected.join(" or "))));
    };
    let behind = [Some(url.path()), url.query(), url.fragment()];
    if behind.into_iter().flatten().any(|part| part.contains('@')) {
        return Err(about(
            "unexpected `@` after the host: write `/`, `?`, `#` and `@` in a password as %2F, \
             %3F, %23 and %40",
        ));
    }
    let host = url.host_str().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| about("no host"))?;
    let (mut hidden, mut authorities, mut entrance) = (*hidden, None, None);
    for (key, value) in url.query_pairs() {
        match key.as_ref() {
            "sslmode" | "ssl-mode" | "tls" | "ssl" => {
                hidden |= is_hidden(&value)
                    .ok_or_else(|| about(&format!("`{key}`: expected require or disable")))?;
            }
            "sslrootcert" | "ssl-ca" | "tlsCAFile" => {
                authorities = Some(PathBuf::from(value.as_ref()));
            }
            "authSource" => entrance = Some(value.into_owned()),
            // The key is not shown: it may be part of a password.
            _ => {
                return Err(about(
                    "unknown parameter: expected sslmode, tls, sslrootcert, tlsCAFile, ssl-ca or \
                     authSource",
                ));
            }
        }
    }
    if let (Some(file), false) = (&authorities, hidden) {
        let file = file.display();
        return Err(about(&format!(
            "expected TLS with the authorities in {file}, found none: add sslmode=verify-full, or \
             tls=true"
        )));
    }
    let secrecy = if hidden {
        let tls = Tls::trusting(authorities.as_deref()).map_err(|why| about(&why))?;
        Some(Box::new(tls) as Box<dyn Secrecy>)
    } else {
        None
    };
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Ok(Elsewhere {
        reference: String::new(),
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(*usual),
        user: plain(url.username()),
        password: Secret(plain(url.password().unwrap_or_default())),
        database: String::new(),
        entrance: entrance.unwrap_or_else(|| plain(url.path().trim_matches('/'))),
        secrecy,
    })
}

/// Returns whether a word of one of several protocols asks for TLS; `None`: the word is unknown.
fn is_hidden(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().replace('_', "-").as_str() {
        "true" | "1" | "require" | "required" | "verify-ca" | "verify-full" | "verify-identity" => {
            Some(true)
        }
        "false" | "0" | "disable" | "disabled" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_elsewhere(text: &str) -> Result<Elsewhere> {
        read(text, &["postgres", "redis", "rediss"], &|what| Error::invalid(what))
    }

    #[test]
    fn a_url_says_who_comes_in_where() {
        let there =
            parse_elsewhere("postgres://me:p%40ss%2F@db.example:5433/start?sslmode=disable")
                .unwrap();
        assert_eq!((there.host.as_str(), there.port), ("db.example", 5433));
        assert_eq!((there.user.as_str(), there.password.0.as_str()), ("me", "p@ss/"));
        assert_eq!(there.entrance, "start");
        assert!(there.secrecy.is_none());
        let there = parse_elsewhere("redis://[::1]/3").unwrap();
        assert_eq!((there.host.as_str(), there.port, there.entrance.as_str()), ("::1", 6379, "3"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for (wrong, why) in [
            ("postgres://me:secret@", "host"),
            ("http://me:secret@h/", "its scheme is not postgres:// or redis:// or rediss://"),
            ("mongodb://me:secret@h/", "its scheme is not postgres://"),
            ("postgres://me:secret@h/?sslmode=prefer", "`sslmode`: expected require"),
            ("postgres://me:secret@h/?secret=secret2", "unknown parameter"),
            ("postgres://me:12?secret@h/", "unexpected `@` after the host"),
            ("postgres://me:12/secret@h/", "unexpected `@` after the host"),
            ("postgres://me:secret@h:port/", "port"),
            ("me:secret@h", "its scheme is not"),
        ] {
            let message = parse_elsewhere(wrong).unwrap_err().message;
            assert!(message.contains(why), "{wrong}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
        let there = parse_elsewhere("redis://:secret@h").unwrap();
        assert!(!format!("{there:?}").contains("secret"), "{there:?}");
        let error = resolve_reference("redis://:secret@h", &["redis"], "").unwrap_err();
        assert!(error.message.contains("expected `env:NAME`"), "{error}");
        assert!(!error.message.contains("secret"), "{error}");
        let error = resolve_reference("env:KVDYNO_NO_SUCH_URL", &["redis"], "").unwrap_err();
        assert!(error.message.contains("KVDYNO_NO_SUCH_URL is not set"), "{error}");
    }
}
