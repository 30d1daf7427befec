//! The first words of a connection: who comes in, and what both can do.

use kvdyno_engine::Result;
use kvdyno_engine::server::nonsense;
use sha1::{Digest as _, Sha1};

/// The user and the database, which the server was made with.
pub(crate) const NAME: &str = "kvdyno";

/// Of the bits that client and server share: a database is named, the protocol since 4.1, its
/// transactions, passwords as they are since 4.1, by a method that is named, and no packet between
/// columns and rows. Bit 0 is left out: who sets it has no [`KEEPS_COLUMNS`].
const CLIENT: u32 = 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19 | 1 << 24;

/// `MariaDB`'s own: the columns of a prepared statement are sent when it is prepared, and again
/// only when they change.
const KEEPS_COLUMNS: u32 = 1 << 4;

/// All is binary: nothing is converted between character sets.
const BINARY: u8 = 63;

const METHOD: &str = "mysql_native_password";

const LONGEST_PACKET: u32 = 1 << 30;

/// What is to be answered to a server's greeting. No secret: whoever reaches it may come in.
pub(crate) fn answer(greeting: &[u8], secret: Option<&str>) -> Result<Vec<u8>> {
    let nonce = nonce(greeting).ok_or_else(|| nonsense("a greeting of another version"))?;
    let mut answer = Vec::with_capacity(128);
    for number in [CLIENT, LONGEST_PACKET] {
        answer.extend_from_slice(&number.to_le_bytes());
    }
    answer.push(BINARY);
    answer.extend_from_slice(&[0; 19]);
    answer.extend_from_slice(&KEEPS_COLUMNS.to_le_bytes());
    answer.extend_from_slice(NAME.as_bytes());
    answer.push(0);
    match secret {
        Some(secret) => {
            answer.push(20);
            answer.extend_from_slice(&proof(secret.as_bytes(), &nonce));
        }
        None => answer.push(0),
    }
    for word in [NAME, METHOD] {
        answer.extend_from_slice(word.as_bytes());
        answer.push(0);
    }
    Ok(answer)
}

/// The 20 bytes that the server has drawn for this connection: 8 after its version and the
/// connection's number, 12 after what it can do.
fn nonce(greeting: &[u8]) -> Option<[u8; 20]> {
    let (version, rest) = greeting.split_first()?;
    let end = rest.iter().position(|byte| *byte == 0).filter(|_| *version == 10)?;
    let rest = rest.get(end + 1 + 4..)?;
    let mut nonce = [0; 20];
    nonce[..8].copy_from_slice(rest.get(..8)?);
    nonce[8..].copy_from_slice(rest.get(27..39)?);
    Some(nonce)
}

/// That the password is known, without saying it: SHA1(password) xor SHA1(nonce, SHA1(SHA1())).
fn proof(secret: &[u8], nonce: &[u8; 20]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(secret).into();
    let twice: [u8; 20] = Sha1::digest(once).into();
    let with_nonce: [u8; 20] =
        Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
    std::array::from_fn(|at| once[at] ^ with_nonce[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A greeting as 10.11 sends it, of the bytes 1 to 20.
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
        assert_eq!(nonce(&greeting()), Some(std::array::from_fn(|at| at as u8 + 1)));
        assert_eq!(nonce(&greeting()[..40]), None);
        assert!(answer(b"\x09", None).is_err());
    }

    #[test]
    fn a_password_is_proved_and_not_said() {
        let nonce = std::array::from_fn(|at| at as u8 + 1);
        let proof = proof(b"secret", &nonce);
        let answer = answer(&greeting(), Some("secret")).unwrap();
        assert!(!answer.windows(6).any(|window| window == b"secret"));
        // The server knows SHA1(SHA1(password)) alone, and finds what it is made of.
        let twice: [u8; 20] = Sha1::digest(Sha1::digest(b"secret")).into();
        let mixed: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(twice).finalize().into();
        let once: [u8; 20] = std::array::from_fn(|at| proof[at] ^ mixed[at]);
        assert_eq!(<[u8; 20]>::from(Sha1::digest(once)), twice);
    }
}
