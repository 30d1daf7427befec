//! Secrets in addresses never reach a record or a log.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What an address has in place of its user part.
const STRUCK_OUT: &str = "***";

/// `value` with every text in it redacted.
pub fn without_secrets<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    let mut value = serde_json::to_value(value)?;
    redact_all(&mut value);
    serde_json::from_value(value)
}

fn redact_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(values) => values.iter_mut().for_each(redact_all),
        Value::Object(fields) => fields.values_mut().for_each(redact_all),
        _ => {}
    }
}

/// Something was struck out of `text`: it is of no use as an address any more.
pub fn is_struck_out(text: &str) -> bool {
    text.contains(&format!("://{STRUCK_OUT}@"))
}

/// `text` with the user part of every address (`scheme://user:password@host`) struck out.
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "\"'/?#,".contains(c));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = after;
        if let Some(user) = authority.rfind('@') {
            clean.push_str(STRUCK_OUT);
            rest = &after[user..];
        }
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::{is_struck_out, redact, without_secrets};

    #[test]
    fn passwords_are_struck_out_and_nothing_else() {
        assert_eq!(
            redact("--set server=mongodb://me:se:cr@t@db.example:27017/x?a=b@c"),
            "--set server=mongodb://***@db.example:27017/x?a=b@c"
        );
        assert_eq!(
            redact("a = \"redis://:pw@h\", b = \"x://h/\""),
            "a = \"redis://***@h\", b = \"x://h/\""
        );
        assert_eq!(redact("no address: mail@example"), "no address: mail@example");
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
