//! A decimal number as written, kept exact: digits and a power of ten.

use super::Ratio;

/// Digits times ten to a power. More than 38 digits or a power past 38 are refused: nothing that
/// fits in 64 bits needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    power: i32,
}

impl Decimal {
    /// Parses `80`, `1.5`, `1e9`, `80_000`; no sign.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, power) = match text.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.parse::<i8>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
        let fraction = fraction.chars().filter(|c| *c != '_').count();
        if !whole.starts_with(|c: char| c.is_ascii_digit())
            || !digits.chars().all(|c| c.is_ascii_digit())
        {
            return None;
        }
        let power = i32::from(power) - i32::try_from(fraction).ok()?;
        (power.abs() <= 38).then_some(Self { digits: digits.parse().ok()?, power })
    }

    /// The number times `factor`, rounded to the nearest whole; null past 64 bits.
    pub(super) fn times(self, factor: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(factor))?;
        let ten = 10_u128.checked_pow(self.power.unsigned_abs())?;
        let whole = if self.power >= 0 {
            product.checked_mul(ten)?
        } else {
            product.checked_add(ten / 2)? / ten
        };
        u64::try_from(whole).ok()
    }

    /// Whether nothing is lost in [`Self::times`].
    pub(super) fn is_whole_times(self, factor: u64) -> bool {
        let ten = 10_u128.checked_pow(self.power.unsigned_abs());
        let product = self.digits.checked_mul(u128::from(factor));
        match (product, ten) {
            (Some(product), Some(ten)) => self.power >= 0 || product % ten == 0,
            _ => self.power >= 0,
        }
    }

    /// The number over `divisor`, exactly; null where 64 bits do not hold it.
    pub(super) fn divide(self, divisor: u64) -> Option<Ratio> {
        let ten = 10_u128.checked_pow(self.power.unsigned_abs())?;
        let (above, below) = if self.power >= 0 {
            (self.digits.checked_mul(ten)?, u128::from(divisor))
        } else {
            (self.digits, ten.checked_mul(u128::from(divisor))?)
        };
        let common = common_divisor(above, below);
        let (above, below) = (above / common, below / common);
        Some(Ratio {
            numerator: u64::try_from(above).ok()?,
            denominator: u64::try_from(below).ok()?,
        })
    }
}

/// The greatest common divisor; of 0 and n it is n.
fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
