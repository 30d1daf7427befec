//! Secrets in addresses never reach a record or a log.

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
            clean.push_str("***");
            rest = &after[user..];
        }
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::redact;

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
}
