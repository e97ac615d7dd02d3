//! Amounts too large for 128 bits of billionths: decimal digits and a power of ten.
//!
//! They exist because Kubernetes accepts them (`1e30`, `800E` times a million) and a claim may ask
//! for one. Decimal digits rather than a big integer: no arithmetic is ever done with such an
//! amount, only order and print, and `1e2000000000` must not cost two thousand million digits.

use std::cmp::Ordering;

/// `digits × 10^exponent`, too large in magnitude for `i128` billionths of a unit.
///
/// The digits are ASCII, without zeros at either end, so that each value has one representation
/// and the derived equality and hash are those of the value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Large {
    negative: bool,
    digits: Box<[u8]>,
    /// At least −9: parsing rounds to billionths of a unit. An exponent is a 32-bit number plus at
    /// most the length of the text, so 64 bits do not overflow.
    exponent: i64,
}

impl Large {
    /// From ASCII digits, which are not all zero, times a power of ten. The caller knows that the
    /// amount does not fit the small representation.
    pub(super) fn new(negative: bool, digits: &[u8], exponent: i64) -> Self {
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = digits.get(leading..).unwrap_or_default();
        let trailing = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        let digits = digits.get(..digits.len() - trailing).unwrap_or_default();
        Self { negative, digits: digits.into(), exponent: exponent + signed(trailing) }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn digits(&self) -> &[u8] {
        &self.digits
    }

    pub(super) fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Returns how this amount compares with any that fits the small representation.
    pub(super) fn against_small(&self) -> Ordering {
        if self.negative { Ordering::Less } else { Ordering::Greater }
    }

    /// In whole units, a fraction rounded away from zero, saturating at the ends of `i128`.
    pub(super) fn rounded_up_units(&self) -> i128 {
        let magnitude = self.whole_units().unwrap_or(i128::MAX);
        match (self.negative, magnitude) {
            (true, i128::MAX) => i128::MIN,
            (true, magnitude) => -magnitude,
            (false, magnitude) => magnitude,
        }
    }

    /// The magnitude in whole units, a fraction rounded up; nothing if `i128` cannot hold it.
    fn whole_units(&self) -> Option<i128> {
        let fraction = usize::try_from(-self.exponent).unwrap_or(0);
        let whole = self.digits.len().saturating_sub(fraction);
        let mut units = 0_i128;
        for digit in self.digits.iter().take(whole) {
            units = units.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        if fraction > 0 {
            // The last digit is never zero, so a fraction is never nothing.
            return units.checked_add(1);
        }
        let scale = u32::try_from(self.exponent).ok()?;
        units.checked_mul(10_i128.checked_pow(scale)?)
    }

    /// Order of the magnitudes: first by the place of the leading digit, then digit by digit. A
    /// shorter run of digits is the smaller one, because no run ends with a zero.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        let place = self.exponent + signed(self.digits.len());
        let other_place = other.exponent + signed(other.digits.len());
        place.cmp(&other_place).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl Ord for Large {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl PartialOrd for Large {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A count of digits as a signed number. No text is longer than `isize::MAX` bytes, so the
/// fallback is never taken.
pub(super) fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
