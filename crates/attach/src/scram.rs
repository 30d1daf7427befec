//! SCRAM-SHA-256 (RFC 5802, RFC 7677), as `PostgreSQL` uses it: each side proves to the other that
//! it knows the password, without sending it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use kvdyno_engine::{Error, ErrorClass, Result};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read as _;

/// The header that says that the proof is not bound to a TLS connection.
const UNBOUND: &str = "n,,";

/// The most rounds accepted: no honest server asks for more, which would only keep us busy.
const ROUNDS_MAX: u32 = 10_000_000;

type Hash = [u8; 32];

/// The client's side of one proof.
#[derive(Debug)]
pub struct Scram {
    /// The client's first message, without the binding header.
    first: String,
    /// The proof expected from the server; `None` before our own proof.
    expected: Option<Hash>,
}

impl Scram {
    /// Begins a proof. `user` may be empty for a server that knows the user already.
    pub fn begin(user: &str) -> Result<Self> {
        let mut random = [0; 18];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self::with_nonce(user, &STANDARD.encode(random)))
    }

    fn with_nonce(user: &str, nonce: &str) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Self { first: format!("n={user},r={nonce}"), expected: None }
    }

    /// Returns the client's first message.
    pub fn first_message(&self) -> String {
        format!("{UNBOUND}{}", self.first)
    }

    /// Returns the proof, in answer to the server's first message.
    pub fn prove(&mut self, password: &str, message: &str) -> Result<String> {
        let part = |name: &str| message.split(',').find_map(|part| part.strip_prefix(name));
        let client_nonce = self.first.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
        let nonce = part("r=")
            .filter(|nonce| nonce.starts_with(client_nonce) && nonce.len() > client_nonce.len());
        let salt = part("s=").and_then(|salt| STANDARD.decode(salt).ok());
        let rounds = part("i=").and_then(|rounds| rounds.parse().ok());
        let rounds = rounds.filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
        let (Some(nonce), Some(salt), Some(rounds)) = (nonce, salt, rounds) else {
            return Err(unavailable_error("unexpected first message from the server"));
        };
        let last = format!("c={},r={nonce}", STANDARD.encode(UNBOUND));
        let all = format!("{},{message},{last}", self.first);
        let salted = salt_password(password, &salt, rounds);
        let key = hmac_sha256(&salted, b"Client Key");
        let stored: Hash = Sha256::digest(key).into();
        let signature = hmac_sha256(&stored, all.as_bytes());
        let proof: Hash = std::array::from_fn(|index| key[index] ^ signature[index]);
        self.expected = Some(hmac_sha256(&hmac_sha256(&salted, b"Server Key"), all.as_bytes()));
        Ok(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Checks the server's proof that it knows the password too.
    pub fn check(&self, message: &str) -> Result<()> {
        let proof =
            message.strip_prefix("v=").and_then(|proof| STANDARD.decode(proof.trim_end()).ok());
        match (proof, self.expected) {
            (Some(proof), Some(expected)) if proof == expected => Ok(()),
            _ => Err(unavailable_error("the server did not prove that it has the password")),
        }
    }
}

fn unavailable_error(what: &str) -> Error {
    Error::new(ErrorClass::Unavailable, what)
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> Hash {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Hash::default() };
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// PBKDF2 of one block.
fn salt_password(password: &str, salt: &[u8], rounds: u32) -> Hash {
    let mut last = hmac_sha256(password.as_bytes(), &[salt, &1_u32.to_be_bytes()].concat());
    let mut all = last;
    for _ in 1..rounds {
        last = hmac_sha256(password.as_bytes(), &last);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_standards_own_example_comes_out() {
        let mut scram = Scram::with_nonce("user", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let message = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let proof = scram.prove("pencil", message).unwrap();
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        scram.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        scram.check("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap_err();
    }

    #[test]
    fn a_server_that_says_nonsense_gets_no_proof() {
        for message in
            ["", "r=other,s=AAAA,i=1", "r=ab,s=AAAA,i=1", "r=abc,s=!,i=1", "r=abc,s=AAAA"]
        {
            let mut scram = Scram::with_nonce("me", "ab");
            assert!(scram.prove("secret", message).is_err(), "{message}");
            assert!(scram.check("v=").is_err());
        }
        assert!(
            Scram::with_nonce("me", "ab").prove("secret", "r=abc,s=AA==,i=4294967295").is_err()
        );
    }
}
