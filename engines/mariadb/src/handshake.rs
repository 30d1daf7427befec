//! The handshake: authentication and capabilities of both sides.

use kvdyno_engine::server::protocol_error;
use kvdyno_engine::{Error, Result};
use sha1::{Digest as _, Sha1};

/// The user and the database, which the server was made with.
pub(crate) const NAME: &str = "kvdyno";

/// The client's capabilities, of the bits that client and server share: a database is named, the
/// protocol since 4.1, its transactions, passwords as they are since 4.1, rows of one of several
/// statements, prepared or not, passwords by a method that is named, and no packet between columns
/// and rows. Bit 0 is left out: a client that sets it has no [`KEEPS_COLUMNS`].
const CLIENT: u32 = 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 24;

/// The bit of [`CLIENT`] by which a database is named.
const NAMES_DATABASE: u32 = 1 << 3;

/// `MariaDB`'s own: the columns of a prepared statement are sent when it is prepared, and again
/// only when they change.
const KEEPS_COLUMNS: u32 = 1 << 4;

/// All is binary: nothing is converted between character sets.
const BINARY: u8 = 63;

const METHOD: &str = "mysql_native_password";

const LONGEST_PACKET: u32 = 1 << 30;

/// The capability TLS: all that follows is encrypted.
const HIDES: u32 = 1 << 11;

/// The offset of the capabilities from the end of a greeting's version: behind a number, half of
/// the nonce, a zero.
const ABLE_AT: usize = 4 + 8 + 1;

/// The user and the database of a client; empty: none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'l> {
    pub(crate) user: &'l str,
    /// Empty: the server needs no password.
    pub(crate) password: &'l str,
    pub(crate) database: &'l str,
}

/// Returns whether the server supports TLS.
pub(crate) fn can_hide(greeting: &[u8]) -> bool {
    let able = skip_version(greeting).and_then(|rest| rest.get(ABLE_AT..ABLE_AT + 2));
    able.is_some_and(|able| u32::from(u16::from_le_bytes([able[0], able[1]])) & HIDES != 0)
}

/// Returns the beginning of a client's answer. If the rest is to be encrypted, this is all of it.
pub(crate) fn beginning(login: Login<'_>, hidden: bool) -> Vec<u8> {
    let mut able = CLIENT;
    if login.database.is_empty() {
        able &= !NAMES_DATABASE;
    }
    if hidden {
        able |= HIDES;
    }
    let mut answer = Vec::with_capacity(128);
    for number in [able, LONGEST_PACKET] {
        answer.extend_from_slice(&number.to_le_bytes());
    }
    answer.push(BINARY);
    answer.extend_from_slice(&[0; 19]);
    answer.extend_from_slice(&KEEPS_COLUMNS.to_le_bytes());
    answer
}

/// Returns the answer to a server's greeting.
pub(crate) fn answer(greeting: &[u8], login: Login<'_>, hidden: bool) -> Result<Vec<u8>> {
    let nonce = nonce(greeting).ok_or_else(|| protocol_error("a greeting of another version"))?;
    let mut answer = beginning(login, hidden);
    answer.extend_from_slice(login.user.as_bytes());
    answer.push(0);
    let proof = password_proof(login.password, &nonce);
    answer.push(proof.len() as u8);
    answer.extend_from_slice(&proof);
    let words = [login.database, METHOD];
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        answer.extend_from_slice(word.as_bytes());
        answer.push(0);
    }
    Ok(answer)
}

/// Returns the answer to a server that asks for a proof with another nonce: its default method may
/// not be the user's.
pub(crate) fn answer_auth_switch(request: &[u8], password: &str) -> Result<Vec<u8>> {
    let mut words = request.splitn(2, |byte| *byte == 0);
    let method = words.next().unwrap_or_default();
    if method != METHOD.as_bytes() {
        let method = String::from_utf8_lossy(method);
        let what = format!("password method: expected {METHOD}, found {method}");
        return Err(Error::invalid(what));
    }
    let nonce = words.next().and_then(<[u8]>::first_chunk::<20>);
    Ok(password_proof(password, nonce.ok_or_else(|| protocol_error("a method without a nonce"))?))
}

fn password_proof(password: &str, nonce: &[u8; 20]) -> Vec<u8> {
    if password.is_empty() { Vec::new() } else { proof(password.as_bytes(), nonce).to_vec() }
}

/// Returns the bytes that follow the version of a greeting.
fn skip_version(greeting: &[u8]) -> Option<&[u8]> {
    let (version, rest) = greeting.split_first()?;
    let end = rest.iter().position(|byte| *byte == 0).filter(|_| *version == 10)?;
    rest.get(end + 1..)
}

/// Returns the server's 20 random bytes for this connection: 8 after version and connection number,
/// 12 after the capabilities.
fn nonce(greeting: &[u8]) -> Option<[u8; 20]> {
    let rest = skip_version(greeting)?.get(4..)?;
    let mut nonce = [0; 20];
    nonce[..8].copy_from_slice(rest.get(..8)?);
    nonce[8..].copy_from_slice(rest.get(27..39)?);
    Some(nonce)
}

/// Returns a proof of the password that does not contain it: SHA1(password) xor SHA1(nonce,
/// SHA1(SHA1(password))).
fn proof(secret: &[u8], nonce: &[u8; 20]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(secret).into();
    let twice: [u8; 20] = Sha1::digest(once).into();
    let with_nonce: [u8; 20] =
        Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
    std::array::from_fn(|index| once[index] ^ with_nonce[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a greeting as 10.11 sends it, whose nonce is the bytes 1 to 20.
    fn greeting() -> Vec<u8> {
        let mut greeting = b"\x0a5.5.5-10.11.19-MariaDB\0\x07\0\0\0".to_vec();
        greeting.extend(1..=8);
        greeting.extend_from_slice(&[0, 0xfe, 0xf7, 8, 2, 0, 0xff, 0xc1, 21]);
        greeting.extend_from_slice(&[0; 6]);
        greeting.extend_from_slice(&[0x1d, 0, 0, 0]);
        greeting.extend(9..=20);
        greeting.extend_from_slice(b"\0mysql_native_password\0");
        greeting
    }

    #[test]
    fn what_the_server_has_drawn_is_found() {
        assert_eq!(nonce(&greeting()), Some(std::array::from_fn(|index| index as u8 + 1)));
        assert_eq!(nonce(&greeting()[..40]), None);
        assert!(answer(b"\x09", login(""), false).is_err());
        assert!(!can_hide(&greeting()), "0xf7fe has no bit 11");
        let mut hides = greeting();
        let able = hides.iter().position(|byte| *byte == 0xf7).unwrap();
        hides[able] |= (HIDES >> 8) as u8;
        assert!(can_hide(&hides));
    }

    fn login(password: &str) -> Login<'_> {
        Login { user: NAME, password, database: NAME }
    }

    #[test]
    fn a_server_may_ask_again() {
        let nonce: [u8; 20] = std::array::from_fn(|index| index as u8 + 1);
        let request = [METHOD.as_bytes(), &[0], &nonce, &[0]].concat();
        assert_eq!(answer_auth_switch(&request, "secret").unwrap(), proof(b"secret", &nonce));
        let error = answer_auth_switch(b"caching_sha2_password\0abc", "secret").unwrap_err();
        assert!(error.message.contains("expected mysql_native_password"), "{error}");
    }

    #[test]
    fn a_password_is_proved_and_not_said() {
        let nonce = std::array::from_fn(|index| index as u8 + 1);
        let proof = proof(b"secret", &nonce);
        let answer = answer(&greeting(), login("secret"), false).unwrap();
        assert!(!answer.windows(6).any(|window| window == b"secret"));
        // The server stores SHA1(SHA1(password)), and checks the proof against it.
        let twice: [u8; 20] = Sha1::digest(Sha1::digest(b"secret")).into();
        let mixed: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
        let once: [u8; 20] = std::array::from_fn(|index| proof[index] ^ mixed[index]);
        assert_eq!(<[u8; 20]>::from(Sha1::digest(once)), twice);
    }
}
