//! The sentence of a phase that opens engines again and again.

use crate::figures::lists::list;
use kvdyno_record::units;

/// `After a close LMDB opens in 858 us and RocksDB in 3.10 ms.`; `mix` as a role's row names it,
/// `times` in nanoseconds. None: it does not open engines, or there are no times.
pub(super) fn sentence(mix: &str, times: &[(&str, f64)]) -> Option<String> {
    let when = match mix {
        "open" => "After a close",
        "recover" => "After a kill",
        _ => return None,
    };
    let each = times.iter().enumerate().map(|(index, (engine, ns))| {
        let opens = if index == 0 { " opens" } else { "" };
        format!("{engine}{opens} in {}", units::duration(*ns as u64))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{when} {}.", list(&each)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_times_by_engine() {
        let times = [("LMDB", 858_000.0), ("RocksDB", 3_100_000.0)];
        let words = |mix| sentence(mix, &times);
        assert_eq!(
            words("open").unwrap(),
            "After a close LMDB opens in 858 us and RocksDB in 3.10 ms."
        );
        assert!(words("recover").unwrap().starts_with("After a kill LMDB"));
        assert_eq!(words("get"), None);
        assert_eq!(sentence("open", &[]), None);
    }
}
