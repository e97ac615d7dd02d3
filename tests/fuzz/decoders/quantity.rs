//! Amounts against exact arithmetic: a second reader of the same grammar, in integers without a limit.
//!
//! It shares no code with the first. Not here: Kubernetes' own answers (`crates/core/src/model/quantity/corpus.tsv`).

use std::cmp::Ordering;

use bindery::model::{Quantity, QuantityError};
use num_bigint::{BigInt, Sign};

use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "quantity",
    check,
    words: &[
        "Ki",
        "Mi",
        "Gi",
        "Pi",
        "Ei",
        "E",
        "m",
        "n",
        "e",
        "E-",
        "e9",
        "+",
        "-",
        ".",
        "\n",
        "00",
        "9999999999",
    ],
};

/// Suffix, power of ten, power of two.
const SUFFIXES: [(&str, i64, u32); 16] = [
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("", 0, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
];

/// Above this power of ten an amount is compared by its sign only: its digits would fill the memory.
const POWER_MAX: i64 = 400;

/// What a text is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Worth {
    /// So many billionths.
    Exact(BigInt),
    /// More than is reckoned with here, on this side of zero.
    Beyond(Sign),
}

/// Why a text is worth nothing; named after the errors of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Format,
    Numeric,
    Suffix,
}

/// Two amounts, a line each; the second is optional.
fn check(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (one, other) = text.split_once('\n').unwrap_or((&text, "1Gi"));
    let (one, other) = (agreed(one), agreed(other));
    if let (Some((one, worth)), Some((other, other_worth))) = (&one, &other) {
        let order = one.cmp(other);
        assert_eq!(order, other.cmp(one).reverse(), "{one} and {other}");
        assert_eq!(order == Ordering::Equal, one == other, "{one} and {other}");
        if let (Worth::Exact(worth), Worth::Exact(other_worth)) = (worth, other_worth) {
            assert_eq!(order, worth.cmp(other_worth), "{one} and {other}");
        }
    }
    if one.is_some() { Outcome::Read } else { Outcome::Rejected }
}

/// The amount and its worth, on which both readers agree; or nothing, on which they agree as well.
fn agreed(text: &str) -> Option<(Quantity, Worth)> {
    match (Quantity::parse(text), worth(text)) {
        (Err(error), Err(fault)) => {
            check_reason(&error.to_string());
            assert_eq!(fault_of(&error), fault, "{text:?}: {error}");
            None
        }
        (Ok(quantity), Ok(worth)) => {
            check_printed(text, &quantity, &worth);
            check_rounded(&quantity, &worth);
            Some((quantity, worth))
        }
        (ours, theirs) => panic!("{text:?}: {ours:?}, but {theirs:?}"),
    }
}

fn fault_of(error: &QuantityError) -> Fault {
    match error {
        QuantityError::Empty | QuantityError::UnexpectedCharacter { .. } => Fault::Format,
        QuantityError::NoDigits { .. } => Fault::Numeric,
        QuantityError::UnknownSuffix { .. } | QuantityError::ExponentTooLong { .. } => {
            Fault::Suffix
        }
    }
}

/// What is printed is short, and is the same amount.
fn check_printed(text: &str, quantity: &Quantity, expected: &Worth) {
    let printed = quantity.to_string();
    assert!(printed.len() <= 2 * text.len() + 50, "{text:?} prints as {printed}");
    let again = Quantity::parse(&printed).expect("what was printed is read");
    assert_eq!(&again, quantity, "{text:?} prints as {printed}");
    assert_eq!(again.to_string(), printed, "{text:?}");
    assert_eq!(worth(&printed).as_ref(), Ok(expected), "{text:?} prints as {printed}");
    let said = quantity.bytes_display().to_string();
    let Worth::Exact(nanos) = expected else { return };
    // A suffix of two's powers ends at 2⁶³ units, also in what is said.
    if nanos.magnitude() >= (BigInt::from(1_u64 << 62) * ten_to(9)).magnitude() {
        return;
    }
    let Ok(Worth::Exact(reported)) = worth(said.trim_start_matches('~')) else { panic!("{said}") };
    if said.starts_with('~') {
        let missing = nanos.magnitude() - reported.magnitude();
        assert_ne!(&reported, nanos, "{text:?}: {said}");
        assert!(missing <= nanos.magnitude() / 99_u8 + 10_000_000_u32, "{text:?}: {said}");
    } else {
        assert_eq!(&reported, nanos, "{text:?}: {said}");
    }
}

/// Rounding goes away from zero, and no further than it must.
fn check_rounded(quantity: &Quantity, expected: &Worth) {
    let nanos = match expected {
        Worth::Exact(nanos) => nanos,
        Worth::Beyond(sign) => {
            let end = if *sign == Sign::Plus { i128::MAX } else { i128::MIN };
            assert_eq!(quantity.rounded_up_units(), end);
            assert_eq!(quantity.is_positive(), *sign == Sign::Plus);
            return;
        }
    };
    assert_eq!(quantity.is_positive(), nanos.sign() == Sign::Plus, "{quantity}");
    let units = away(nanos, &ten_to(9));
    let end = if units.sign() == Sign::Minus { i128::MIN } else { i128::MAX };
    assert_eq!(quantity.rounded_up_units(), i128::try_from(&units).unwrap_or(end), "{quantity}");
    let stored = away(nanos, &ten_to(6)) * ten_to(6);
    // Next to the ends of the range an amount stays as it is.
    let stored = if i128::try_from(&stored).is_ok() { &stored } else { nanos };
    let rounded = quantity.clone().rounded_up_to_thousandths().to_string();
    assert_eq!(worth(&rounded).as_ref(), Ok(&Worth::Exact(stored.clone())), "{quantity}");
}

/// `number / divisor`, away from zero.
fn away(number: &BigInt, divisor: &BigInt) -> BigInt {
    let up = divisor - 1_u8;
    if number.sign() == Sign::Minus { (number - up) / divisor } else { (number + up) / divisor }
}

fn ten_to(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

/// Returns what `text` is worth by the definition of its grammar.
fn worth(text: &str) -> Result<Worth, Fault> {
    if text.is_empty() {
        return Err(Fault::Format);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits =
        |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(digits(after)),
        None => ("", rest),
    };
    let (tens, twos) = powers(suffix)?;
    let places = i64::try_from(fraction.len()).expect("a short text");
    let spelled = format!("{whole}{fraction}");
    if spelled.is_empty() {
        // Kubernetes reads these by a fast path that takes nothing for zero.
        let is_zero = if twos > 0 { twos <= 40 } else { tens >= -9 };
        return if is_zero { Ok(Worth::Exact(BigInt::ZERO)) } else { Err(Fault::Numeric) };
    }
    let mantissa: BigInt = spelled.parse().expect("digits");
    let sign = if text.starts_with('-') { Sign::Minus } else { Sign::Plus };
    let signed = |nanos: BigInt| if sign == Sign::Minus { -nanos } else { nanos };
    if twos > 0 {
        let nanos = mantissa * (BigInt::from(1) << twos) * ten_to(9);
        let nanos = away(&nanos, &ten_to(u32::try_from(places).expect("short")));
        return Ok(Worth::Exact(signed(nanos.min(BigInt::from(i64::MAX) * ten_to(9)))));
    }
    if mantissa == BigInt::ZERO {
        return Ok(Worth::Exact(mantissa));
    }
    let power = tens - places + 9;
    Ok(match u32::try_from(power.unsigned_abs()) {
        _ if power > POWER_MAX => Worth::Beyond(sign),
        Ok(power_of) if power >= 0 => Worth::Exact(signed(mantissa * ten_to(power_of))),
        // Less than one billionth is one.
        _ if power < -i64::try_from(spelled.len()).expect("short") => {
            Worth::Exact(signed(BigInt::from(1)))
        }
        Ok(power_of) => Worth::Exact(signed(away(&mantissa, &ten_to(power_of)))),
        Err(_) => unreachable!("a power of less than the digits of a text"),
    })
}

/// The powers of ten and of two that a suffix stands for.
fn powers(suffix: &str) -> Result<(i64, u32), Fault> {
    if let Some((_, tens, twos)) = SUFFIXES.iter().find(|(name, ..)| *name == suffix) {
        return Ok((*tens, *twos));
    }
    let number = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let number = number.strip_prefix(['+', '-']).unwrap_or(number);
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(Fault::Suffix)?;
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || unsigned != number {
        return Err(Fault::Suffix);
    }
    let magnitude: BigInt = number.parse().map_err(|_| Fault::Suffix)?;
    let exponent = if exponent.starts_with('-') { -magnitude } else { magnitude };
    let exponent = i64::try_from(exponent).map_err(|_| Fault::Suffix)?;
    // Kubernetes keeps the low 32 bits.
    let low = exponent.rem_euclid(1 << 32);
    Ok((if low >= 1 << 31 { low - (1 << 32) } else { low }, 0))
}
