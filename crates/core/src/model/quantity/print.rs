//! Prints amounts: the canonical form that the API server uses, and a rounded one for sentences.
//!
//! Canonical: no fraction, and the largest suffix of the amount's own family that loses nothing.

use std::fmt;
use std::iter::repeat_n;

use super::large::Large;
use super::{Amount, Family, NANOS_PER_UNIT, Quantity};

/// Suffixes of the powers of 1024, from the zeroth on.
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.amount(), self.family()) {
            (Amount::Nanos(0), _) => formatter.write_str("0"),
            (Amount::Nanos(nanos), Family::Binary) => binary(formatter, nanos),
            (Amount::Nanos(nanos), family @ (Family::Decimal | Family::Exponent)) => {
                decimal(formatter, nanos, family)
            }
            (Amount::Large(large), family) => large_decimal(formatter, large, family),
        }
    }
}

/// Kubernetes: `CanonicalizeBytes` prints what is below 1024 or not whole as a decimal.
fn binary(formatter: &mut fmt::Formatter<'_>, nanos: i128) -> fmt::Result {
    if nanos % NANOS_PER_UNIT != 0 || nanos.abs() < 1024 * NANOS_PER_UNIT {
        return decimal(formatter, nanos, Family::Decimal);
    }
    let mut units = nanos / NANOS_PER_UNIT;
    let mut suffixes = BINARY_SUFFIXES.iter();
    let mut suffix = suffixes.next();
    while units % 1024 == 0 && suffixes.len() > 0 {
        units /= 1024;
        suffix = suffixes.next();
    }
    write!(formatter, "{units}{}", suffix.copied().unwrap_or_default())
}

fn decimal(formatter: &mut fmt::Formatter<'_>, nanos: i128, family: Family) -> fmt::Result {
    let mut mantissa = nanos;
    let mut exponent = -9;
    while mantissa % 1000 == 0 && (family == Family::Exponent || exponent < LARGEST_SUFFIX) {
        mantissa /= 1000;
        exponent += 3;
    }
    write!(formatter, "{mantissa}")?;
    suffix(formatter, exponent, family)
}

fn large_decimal(formatter: &mut fmt::Formatter<'_>, large: &Large, family: Family) -> fmt::Result {
    let mut exponent = large.exponent() - large.exponent().rem_euclid(3);
    exponent =
        exponent.min(if family == Family::Exponent { LARGEST_EXPONENT } else { LARGEST_SUFFIX });
    // With a suffix there are no more zeros than were written; nor with an exponent, but for two.
    let zeros = usize::try_from(large.exponent() - exponent).unwrap_or(0);
    if large.is_negative() {
        formatter.write_str("-")?;
    }
    for digit in large.digits().iter().copied().chain(repeat_n(b'0', zeros)) {
        write!(formatter, "{}", char::from(digit))?;
    }
    suffix(formatter, exponent, family)
}

/// Power of ten of `E`, above which decimal suffixes end.
const LARGEST_SUFFIX: i64 = 18;

/// The largest exponent that is a multiple of three and is read back as itself: of one that does not fit 32 bits,
/// a reader keeps the low ones.
const LARGEST_EXPONENT: i64 = i32::MAX as i64 - 1;

/// Prints the suffix of a power of ten, which is a multiple of three.
fn suffix(formatter: &mut fmt::Formatter<'_>, exponent: i64, family: Family) -> fmt::Result {
    let suffix = match exponent {
        0 => "",
        _ if family == Family::Exponent => return write!(formatter, "e{exponent}"),
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        _ => "E",
    };
    formatter.write_str(suffix)
}

impl Quantity {
    /// The amount as a person says it: the largest binary suffix that leaves at least 1, at most
    /// two decimals, and a `~` in front when those are not the whole value: `10Gi`, `~9.31Gi`.
    ///
    /// For sentences only. Requests to the API server use `Display`.
    pub fn bytes_display(&self) -> impl fmt::Display + '_ {
        Bytes(self)
    }
}

/// See [`Quantity::bytes_display`].
struct Bytes<'a>(&'a Quantity);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = match self.0.amount() {
            Amount::Nanos(nanos) => nanos,
            // No unit is readable here; the exact form is as good as any.
            Amount::Large(_) => return write!(formatter, "{}", self.0),
        };
        let magnitude = nanos.unsigned_abs();
        let unit = NANOS_PER_UNIT.unsigned_abs();
        let mut suffixes = BINARY_SUFFIXES.iter();
        let mut suffix = suffixes.next();
        let mut divisor = unit;
        while magnitude / divisor >= 1024 && suffixes.len() > 0 {
            divisor *= 1024;
            suffix = suffixes.next();
        }
        // The divisor is at most 10⁹ × 2⁶⁰, so a hundred remainders fit.
        let hundredths = magnitude % divisor * 100 / divisor;
        let exact = (magnitude % divisor * 100).is_multiple_of(divisor);
        let whole = magnitude / divisor;
        let about = if exact { "" } else { "~" };
        let sign = if nanos < 0 { "-" } else { "" };
        write!(formatter, "{about}{sign}{whole}")?;
        match hundredths {
            0 => {}
            tenths if tenths.is_multiple_of(10) => write!(formatter, ".{}", tenths / 10)?,
            hundredths => write!(formatter, ".{hundredths:02}")?,
        }
        formatter.write_str(suffix.copied().unwrap_or_default())
    }
}
