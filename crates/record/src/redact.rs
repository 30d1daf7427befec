//! Secrets in addresses never reach a record or a log.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ops::Range;

/// The replacement of an address's user part.
const STRUCK_OUT: &str = "***";

/// The schemes of attached servers.
const SERVERS: [&str; 10] = [
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "mysql",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "valkey",
    "valkeys",
];

/// The text after the scheme in kvdyno's own explanations of how a URL is written.
const EXAMPLE: &str = "USER:PASSWORD@HOST:PORT";

/// `value` with every text in it redacted.
pub fn without_secrets<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    let mut value = serde_json::to_value(value)?;
    redact_all(&mut value);
    // Through text: otherwise the reading would be compiled twice, from text and from values.
    serde_json::from_slice(&serde_json::to_vec(&value)?)
}

fn redact_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(values) => values.iter_mut().for_each(redact_all),
        Value::Object(fields) => fields.values_mut().for_each(redact_all),
        _ => {}
    }
}

/// Whether something was struck out of `text`, so that it is of no use as an address any more.
pub fn is_struck_out(text: &str) -> bool {
    text.contains(&format!("://{STRUCK_OUT}"))
}

/// Returns `text` with the user part of every address (`scheme://user:password@host`) struck out.
/// Of a server's address everything is struck out: a lone password stands where the host should.
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut offset = 0;
    for secret in secrets(text) {
        clean.push_str(&text[offset..secret.start]);
        clean.push_str(STRUCK_OUT);
        offset = secret.end;
    }
    clean + &text[offset..]
}

/// Replaces the same parts by a star for each byte, so that places in `text` stay the same.
pub fn mask(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for secret in secrets(text) {
        clean.push_str(&text[clean.len()..secret.start]);
        clean.extend(secret.map(|_| '*'));
    }
    let masked = clean.len();
    clean + &text[masked..]
}

/// Returns the places of the secrets, in order.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let (mut all, mut offset) = (Vec::new(), 0);
    while let Some(position) = text[offset..].find("://") {
        let scheme = scheme_before(&text[offset..offset + position]);
        offset += position + 3;
        let after = &text[offset..];
        let up_to = |ends: &dyn Fn(char) -> bool| after.find(ends).unwrap_or(after.len());
        let word = up_to(&|c| c.is_whitespace() || "\"'`".contains(c));
        let secret = if SERVERS.contains(&scheme.to_ascii_lowercase().as_str()) {
            if &after[..word] == EXAMPLE { 0 } else { word }
        } else {
            let authority = up_to(&|c| c.is_whitespace() || "\"'/?#,".contains(c));
            after[..authority].rfind('@').unwrap_or(0)
        };
        if secret > 0 {
            all.push(offset..offset + secret);
        }
        offset += secret;
    }
    all
}

fn scheme_before(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    &text[text.trim_end_matches(is_part).len()..]
}

#[cfg(test)]
mod tests {
    use super::{is_struck_out, mask, redact, without_secrets};

    #[test]
    fn passwords_are_struck_out_and_nothing_else() {
        assert_eq!(
            redact("--set server=x://me:se:cr@t@db.example:27017/x?a=b@c"),
            "--set server=x://***@db.example:27017/x?a=b@c"
        );
        assert_eq!(
            redact("a = \"https://:pw@h\", b = \"x://h/\""),
            "a = \"https://***@h\", b = \"x://h/\""
        );
        assert_eq!(redact("no address: mail@example"), "no address: mail@example");
    }

    /// Malformed addresses are struck out, too: a password alone, and one with the marks that end a
    /// host.
    #[test]
    fn of_a_servers_address_nothing_is_left() {
        for secret in ["secret", ":se/cr?et#@host", "user:secret@host:1/db?tls=on", "me@h,i"] {
            for scheme in super::SERVERS {
                let text = format!("attach = \"{scheme}://{secret}\" # {scheme}://{secret}");
                let clean = format!("attach = \"{scheme}://***\" # {scheme}://***");
                assert_eq!(redact(&text), clean);
                assert!(is_struck_out(&clean));
            }
        }
        assert_eq!(redact("REDIS://secret and more"), "REDIS://*** and more");
        let how = "such as redis://USER:PASSWORD@HOST:PORT";
        assert_eq!((redact(how), mask(how)), (how.to_owned(), how.to_owned()));
    }

    #[test]
    fn what_is_masked_keeps_its_places() {
        let text = "a = \"redis://pässword\"\nb = \"x://me@h/\"";
        let masked = mask(text);
        assert_eq!(masked, "a = \"redis://*********\"\nb = \"x://**@h/\"");
        assert_eq!(masked.find("b ="), text.find("b ="));
    }

    #[test]
    fn a_value_has_its_secrets_struck_out_and_is_the_same_otherwise() {
        let cases = |server: &str| serde_json::json!([{ "server": server, "threads": 2 }]);
        let plan = |server: &str| serde_json::json!({ "cases": cases(server), "sized": [server] });
        assert_eq!(without_secrets(&plan("none")).unwrap(), plan("none"));
        let clean = without_secrets(&plan("from x://me:secret@host/")).unwrap();
        assert_eq!(clean, plan("from x://***@host/"));
        assert!(is_struck_out(clean["sized"][0].as_str().unwrap()));
    }
}
