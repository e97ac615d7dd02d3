//! Reads the spelling of an amount.
//!
//! It follows the scanner of Kubernetes in what it accepts and rejects; the arithmetic is our own:
//! exact, without big integers, and without allocation unless the amount is a large one.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::Range;

use super::large::{Large, signed};
use super::{Family, NANOS_PER_UNIT, Quantity};

/// Why a spelling is not an amount. Positions are byte offsets into the text.
///
/// Each variant names the error that Kubernetes gives for the same spelling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Kubernetes: `ErrFormatWrong`.
    #[error("an amount is empty; write a number, as in 10Gi")]
    Empty,
    /// Kubernetes: `ErrFormatWrong`.
    #[error(
        "{character:?} at byte {position} has no place in an amount; \
         write digits, then a suffix, as in 10Gi"
    )]
    UnexpectedCharacter {
        /// Where it stands.
        position: usize,
        /// The first character that no amount has at that place.
        character: char,
    },
    /// Kubernetes: `ErrNumeric`.
    #[error("the amount has no digit before its suffix at byte {position}; write a number first")]
    NoDigits {
        /// Where the suffix begins.
        position: usize,
    },
    /// Kubernetes: `ErrSuffix`.
    #[error(
        "{suffix:?} at byte {position} is not a suffix of amounts; \
         use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
    )]
    UnknownSuffix {
        /// Where the suffix begins.
        position: usize,
        /// The suffix, cut off after 16 bytes: no real one is longer than 3.
        suffix: Box<str>,
    },
    /// Kubernetes: `ErrSuffix`.
    #[error("the exponent at byte {position} does not fit 64 bits; write a smaller one")]
    ExponentTooLong {
        /// Where the suffix begins.
        position: usize,
    },
}

/// An error repeats at most so many bytes of a suffix, so that a hostile text does not fill a log.
const SUFFIX_IN_ERROR: usize = 16;

/// The text in its parts.
struct Spelling<'a> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'a [u8],
    /// Digits after the point.
    fraction: &'a [u8],
    /// Whether any digit was written, leading zeros included.
    has_digits: bool,
    suffix: &'a str,
    suffix_at: usize,
}

/// What a suffix multiplies with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// 10 to this power.
    Decimal(i32),
    /// 10 to this power, written as an exponent.
    Exponent(i32),
    /// 2 to this power.
    Binary(u32),
}

impl Quantity {
    /// Reads an amount as the API server does.
    ///
    /// A value between two billionths of a unit is rounded away from zero, so that a request
    /// for something gets something. An amount with a binary suffix is capped at 2⁶³−1 units in
    /// either direction; other amounts have no upper limit. A spelling without any digit (`+`,
    /// `Gi`, `.`) is zero, except with the suffixes `Pi` and `Ei` and with exponents below −9,
    /// where it is invalid. An exponent counts modulo 2³², as it does in Kubernetes, which keeps
    /// the low 32 bits.
    ///
    /// **Differs from Kubernetes**: next to ±2³¹ Kubernetes' 32-bit sum of exponent and decimal
    /// places overflows (`1.5e-2147483648` becomes astronomically large); here it is exact.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the spelling, and at which byte.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let spelling = scan(text)?;
        let unit = unit(&spelling)?;
        if !spelling.has_digits && !reads_without_digits(unit) {
            return Err(QuantityError::NoDigits { position: spelling.suffix_at });
        }
        Ok(match unit {
            Unit::Decimal(power) => decimal(&spelling, power, Family::Decimal),
            Unit::Exponent(power) => decimal(&spelling, power, Family::Exponent),
            Unit::Binary(power) => binary(&spelling, power),
        })
    }
}

/// Splits the text; knows which characters may stand where, but not which suffixes exist.
fn scan(text: &str) -> Result<Spelling<'_>, QuantityError> {
    let bytes = text.as_bytes();
    let first = bytes.first().ok_or(QuantityError::Empty)?;
    let start = usize::from(matches!(first, b'+' | b'-'));
    let zeros_end = run(bytes, start, |byte| byte == b'0');
    let whole_end = run(bytes, zeros_end, |byte| byte.is_ascii_digit());
    let fraction_start = whole_end + usize::from(bytes.get(whole_end) == Some(&b'.'));
    // Without a point there is no fraction: the digits before it were all taken.
    let suffix_at = run(bytes, fraction_start, |byte| byte.is_ascii_digit());
    let letters_end = run(bytes, suffix_at, |byte| b"eEinumkKMGTP".contains(&byte));
    let exponent_start =
        letters_end + usize::from(matches!(bytes.get(letters_end), Some(b'+' | b'-')));
    let end = run(bytes, exponent_start, |byte| byte.is_ascii_digit());
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    if let Some(character) = part(end..text.len()).chars().next() {
        return Err(QuantityError::UnexpectedCharacter { position: end, character });
    }
    let fraction = part(fraction_start..suffix_at).as_bytes();
    Ok(Spelling {
        negative: *first == b'-',
        whole: part(zeros_end..whole_end).as_bytes(),
        fraction,
        has_digits: whole_end > start || !fraction.is_empty(),
        suffix: part(suffix_at..end),
        suffix_at,
    })
}

/// Returns where the run of bytes that `belongs` accepts ends.
fn run(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    from + bytes.iter().skip(from).take_while(|byte| belongs(**byte)).count()
}

fn unit(spelling: &Spelling<'_>) -> Result<Unit, QuantityError> {
    Ok(match spelling.suffix {
        "n" => Unit::Decimal(-9),
        "u" => Unit::Decimal(-6),
        "m" => Unit::Decimal(-3),
        "" => Unit::Decimal(0),
        "k" => Unit::Decimal(3),
        "M" => Unit::Decimal(6),
        "G" => Unit::Decimal(9),
        "T" => Unit::Decimal(12),
        "P" => Unit::Decimal(15),
        "E" => Unit::Decimal(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        other => Unit::Exponent(exponent(other, spelling.suffix_at)?),
    })
}

fn exponent(suffix: &str, position: usize) -> Result<i32, QuantityError> {
    let unknown = || QuantityError::UnknownSuffix {
        position,
        suffix: suffix.get(..SUFFIX_IN_ERROR).unwrap_or(suffix).into(),
    };
    let number = suffix.strip_prefix(['e', 'E']).ok_or_else(unknown)?;
    let power: i64 = number.parse().map_err(|error: ParseIntError| {
        if matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) {
            QuantityError::ExponentTooLong { position }
        } else {
            unknown()
        }
    })?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Kubernetes keeps the low 32 bits; another value would be another amount than the \
                  API server's"
    )]
    Ok(power as i32)
}

/// Kubernetes' fast path turns a spelling without digits into zero, its slow path rejects it.
/// These are the suffixes that the fast path takes.
fn reads_without_digits(unit: Unit) -> bool {
    match unit {
        Unit::Decimal(power) | Unit::Exponent(power) => power >= -9,
        Unit::Binary(power) => power <= 40,
    }
}

/// `digits × 2^power`, in billionths rounded up, at most 2⁶³−1 units.
fn binary(spelling: &Spelling<'_>, power: u32) -> Quantity {
    /// Kubernetes: `maxAllowed`.
    const CAP: i128 = (1_i128 << 63) - 1;
    let units = fold(spelling.whole.iter().copied())
        .filter(|whole| *whole <= CAP)
        // Below 2⁶³ shifted by at most 60: it fits.
        .map(|whole| whole << power)
        .filter(|units| *units < CAP);
    let nanos = match units {
        // The fraction adds at most 2⁶⁰ units, so this fits as well.
        Some(units) => {
            let nanos = units * NANOS_PER_UNIT + fraction_of(spelling.fraction, power);
            nanos.min(CAP * NANOS_PER_UNIT)
        }
        None => CAP * NANOS_PER_UNIT,
    };
    Quantity::from_nanos(if spelling.negative { -nanos } else { nanos }, Family::Binary)
}

/// `0.digits × 2^power` units, in billionths rounded up.
///
/// From the last digit to the first, `rest = (digit × whole + rest) / 10`. Dropping what is below
/// one billionth at each step does not change the integer part of the result; whether anything
/// was dropped says whether to round up.
fn fraction_of(digits: &[u8], power: u32) -> i128 {
    // 10⁹ × 2⁶⁰ is below 2⁹⁰: ten of them fit.
    let whole = NANOS_PER_UNIT << power;
    let mut rest = 0;
    let mut dropped = false;
    for digit in digits.iter().rev() {
        let sum = i128::from(digit - b'0') * whole + rest;
        dropped |= sum % 10 != 0;
        rest = sum / 10;
    }
    rest + i128::from(dropped)
}

/// `digits × 10^power`, in billionths rounded away from zero.
fn decimal(spelling: &Spelling<'_>, power: i32, family: Family) -> Quantity {
    let digits = || spelling.whole.iter().chain(spelling.fraction).copied();
    // The value is all digits, read as one number, times 10^scale billionths.
    let scale = i64::from(power) - signed(spelling.fraction.len()) + 9;
    let count = spelling.whole.len() + spelling.fraction.len();
    let kept = count.saturating_sub(usize::try_from(-scale).unwrap_or(0));
    let round_up = digits().skip(kept).any(|digit| digit != b'0');
    let scale = scale.max(0);
    let magnitude = fold(digits().take(kept))
        .and_then(|mantissa| mantissa.checked_add(i128::from(round_up)))
        .and_then(|mantissa| scaled(mantissa, scale));
    if let Some(nanos) = magnitude {
        return Quantity::from_nanos(if spelling.negative { -nanos } else { nanos }, family);
    }
    let mut kept: Vec<u8> = digits().take(kept).collect();
    if round_up {
        increment(&mut kept);
    }
    Quantity::from_large(Large::new(spelling.negative, &kept, scale - 9), family)
}

/// The number that the digits spell, if it fits.
fn fold(mut digits: impl Iterator<Item = u8>) -> Option<i128> {
    digits.try_fold(0_i128, |number, digit| {
        number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })
}

/// `mantissa × 10^scale`, if it fits. Zero fits at every scale.
fn scaled(mantissa: i128, scale: i64) -> Option<i128> {
    if mantissa == 0 {
        return Some(0);
    }
    mantissa.checked_mul(10_i128.checked_pow(u32::try_from(scale).ok()?)?)
}

/// Adds one to a number in ASCII digits.
fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}
