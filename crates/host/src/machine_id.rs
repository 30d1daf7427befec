//! The machine's identity: a one-way hash of its `/etc/machine-id`, which must stay on the machine
//! (machine-id(5)).

use super::Root;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt::Write as _;

/// The program's own number. Another one would change the ids of all machines that were recorded.
const APPLICATION: u128 = 0xfc1b_645e_af27_4948_ad4d_5b5e_a7a7_6acb;

/// Returns another id for the machine, the same as long as it keeps its own: that of
/// `sd_id128_get_machine_app_specific(3)`. `None`: it has none, as in many containers.
pub(super) fn hash_id(root: &Root) -> Option<String> {
    let text = root.text("/etc/machine-id").filter(|text| text.len() == 32)?;
    // A machine before its first boot has a word there, or zeros.
    let id = u128::from_str_radix(&text, 16).ok().filter(|id| *id != 0)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&id.to_be_bytes()).ok()?;
    mac.update(&APPLICATION.to_be_bytes());
    let mut bytes: [u8; 32] = mac.finalize().into_bytes().into();
    // The result is a UUID of version 4.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut hashed = String::new();
    for byte in &bytes[..16] {
        write!(hashed, "{byte:02x}").ok()?;
    }
    Some(hashed)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    /// The output of `systemd-id128 machine-id --app-specific` (252) for the same two numbers.
    #[test]
    fn it_is_what_systemd_makes_of_it() {
        let id_of = |text: &str| hash_id(&Fake::new().file("/etc/machine-id", text).root);
        let id = id_of("e3d7fd9d1c1e4b7bb0c4c0a9a3a2f6d1\n");
        assert_eq!(id.as_deref(), Some("9c8185613c094ac18fb486f5a6168811"));
        assert_ne!(id_of("e3d7fd9d1c1e4b7bb0c4c0a9a3a2f6d2\n"), id);
        for none in ["", "uninitialized\n", "00000000000000000000000000000000\n", "é", "+1"] {
            assert_eq!(id_of(none), None, "{none:?}");
        }
        assert_eq!(hash_id(&Fake::new().root), None);
    }
}
