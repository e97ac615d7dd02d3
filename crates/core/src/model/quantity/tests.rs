//! Amounts against Kubernetes' own answers (`corpus.tsv`) and against exact arithmetic of another
//! author (`num-bigint`).

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use super::{Amount, Quantity, QuantityError, Stored};

/// What Kubernetes 1.36.3 says about each spelling, printed by a program that calls
/// `resource.ParseQuantity`. Columns, separated by tabs: spelling, canonical form or `!` and the
/// error, exact value in billionths or `-` where it is very long, rank among all accepted lines in
/// the order of `Quantity.Cmp`, `Quantity.Value()` or `-` where that overflows or is negative.
const CORPUS: &str = include_str!("corpus.tsv");

fn amount(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The exact value in billionths.
fn nanos(quantity: &Quantity) -> BigInt {
    match quantity.amount() {
        Amount::Nanos(nanos) => BigInt::from(nanos),
        Amount::Large(large) => {
            let digits = BigInt::parse_bytes(large.digits(), 10).expect("digits");
            let value = digits * ten_to(u32::try_from(large.exponent() + 9).expect("not below n"));
            if large.is_negative() { -value } else { value }
        }
    }
}

fn ten_to(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

fn hash(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}

/// The error of Kubernetes that stands for ours.
fn kubernetes_error(error: &QuantityError) -> &'static str {
    match error {
        QuantityError::Empty | QuantityError::UnexpectedCharacter { .. } => "!format",
        QuantityError::NoDigits { .. } => "!numeric",
        QuantityError::UnknownSuffix { .. } | QuantityError::ExponentTooLong { .. } => "!suffix",
    }
}

#[test]
fn reads_and_prints_the_corpus_as_kubernetes_does() {
    let mut accepted = 0;
    let mut rejected = 0;
    for line in CORPUS.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let (spelling, expected) = (columns[0], columns[1]);
        let quantity = match Quantity::parse(spelling) {
            Err(error) => {
                assert_eq!(kubernetes_error(&error), expected, "{spelling:?}: {error}");
                rejected += 1;
                continue;
            }
            Ok(quantity) => quantity,
        };
        accepted += 1;
        let printed = quantity.to_string();
        assert_eq!(amount(&printed), quantity, "{spelling:?} prints as {printed}");
        // Kubernetes forgets the suffix above `E`; see **Differs from Kubernetes** of `Quantity`.
        if Quantity::parse(expected).as_ref() == Ok(&quantity) {
            assert_eq!(printed, expected, "{spelling:?}");
        } else {
            assert!(printed.ends_with("000E"), "{spelling:?}: {printed}, Kubernetes: {expected}");
        }
        if columns[2] != "-" {
            assert_eq!(nanos(&quantity).to_string(), columns[2], "{spelling:?}");
        }
        if columns[4] != "-" {
            assert_eq!(quantity.rounded_up_units().to_string(), columns[4], "{spelling:?}");
        }
    }
    assert!(accepted > 200 && rejected > 50, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn orders_the_corpus_as_kubernetes_does() {
    let ranked: Vec<(usize, Quantity)> = CORPUS
        .lines()
        .filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            Some((columns.get(3)?.parse().ok()?, amount(columns[0])))
        })
        .collect();
    assert!(ranked.len() > 200);
    for (rank, quantity) in &ranked {
        for (other_rank, other) in &ranked {
            assert_eq!(quantity.cmp(other), rank.cmp(other_rank), "{quantity} and {other}");
            assert_eq!(quantity == other, rank == other_rank, "{quantity} and {other}");
            assert!(rank != other_rank || hash(quantity) == hash(other), "{quantity} and {other}");
        }
    }
}

#[test]
fn prints_the_largest_suffix_that_loses_nothing() {
    for (spelling, printed) in [
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1024Ki", "1Mi"),
        ("1000m", "1"),
        ("1000E", "1000E"),
        ("-1000000E", "-1000000E"),
        ("123456789012345678901234567890E", "123456789012345678901234567890E"),
        ("1e31", "10e30"),
        ("1e2147483647", "10e2147483646"),
        ("1e4294967297", "10"),
        ("100e2147483647", "1000e2147483646"),
        ("-12300e2147483647", "-123000e2147483646"),
    ] {
        assert_eq!(amount(spelling).to_string(), printed);
    }
}

#[test]
fn compares_enormous_exponents_at_once() {
    let enormous = amount("1e2147483647");
    assert!(enormous > amount("9e2147483646"));
    assert!(enormous < amount("1.0000000000000000000000000000000000000000001e2147483647"));
    assert!(amount("-1e2147483647") < amount("-9e2147483646"));
    assert_eq!(enormous, amount("10e2147483646"));
    assert_eq!(amount("1.5e-2147483648"), amount("1n"));
}

#[test]
fn says_what_is_wrong_and_where() {
    let unknown =
        |position, suffix: &str| QuantityError::UnknownSuffix { position, suffix: suffix.into() };
    let unexpected =
        |position, character| QuantityError::UnexpectedCharacter { position, character };
    for (spelling, error) in [
        ("", QuantityError::Empty),
        (" 5", unexpected(0, ' ')),
        ("5GiB", unexpected(3, 'B')),
        ("1.5é", unexpected(3, 'é')),
        ("1.2.3", unexpected(3, '.')),
        ("5K", unknown(1, "K")),
        ("5GiM", unknown(1, "GiM")),
        ("10e+", unknown(2, "e+")),
        ("5eeeeeeeeeeeeeeeeeeeeeeee", unknown(1, "eeeeeeeeeeeeeeee")),
        ("Ei", QuantityError::NoDigits { position: 0 }),
        ("-.e-10", QuantityError::NoDigits { position: 2 }),
        ("1e9223372036854775808", QuantityError::ExponentTooLong { position: 1 }),
        ("1e-9223372036854775809", QuantityError::ExponentTooLong { position: 1 }),
    ] {
        assert_eq!(Quantity::parse(spelling), Err(error), "{spelling:?}");
    }
    insta::assert_snapshot!(
        Quantity::parse("10GB").unwrap_err(),
        @"'B' at byte 3 has no place in an amount; write digits, then a suffix, as in 10Gi"
    );
}

#[test]
fn rounds_units_away_from_zero_and_saturates() {
    for (spelling, units) in [
        ("0", 0),
        ("9.2", 10),
        ("9.7", 10),
        ("-9.2", -10),
        ("1n", 1),
        ("10E", 10_000_000_000_000_000_000),
        ("170141183460469231731687303715.884105728", 170_141_183_460_469_231_731_687_303_716),
        ("-170141183460469231731687303715.884105728", -170_141_183_460_469_231_731_687_303_716),
        ("1e38", 10_i128.pow(38)),
        ("1e39", i128::MAX),
        ("-1e39", i128::MIN),
        ("1e2147483647", i128::MAX),
    ] {
        assert_eq!(amount(spelling).rounded_up_units(), units, "{spelling}");
    }
}

#[test]
fn says_bytes_as_a_person_does() {
    for (spelling, said) in [
        ("0", "0"),
        ("512", "512"),
        ("0.5", "0.5"),
        ("10737418240", "10Gi"),
        ("10G", "~9.31Gi"),
        ("1536Mi", "1.5Gi"),
        ("1.25Ki", "1.25Ki"),
        ("1100", "~1.07Ki"),
        ("1025Mi", "~1Gi"),
        ("-10G", "~-9.31Gi"),
        ("1E", "~888.17Pi"),
        ("2000E", "~1734.72Ei"),
        ("1e40", "10e39"),
    ] {
        assert_eq!(amount(spelling).bytes_display().to_string(), said, "{spelling}");
    }
}

#[test]
fn positive_is_more_than_nothing() {
    for (spelling, positive) in
        [("0", false), ("-1n", false), ("1e-300", true), ("1e300", true), ("-1e300", false)]
    {
        assert_eq!(amount(spelling).is_positive(), positive, "{spelling}");
    }
    assert!(!Quantity::ZERO.is_positive());
    assert_eq!(Quantity::ZERO, Quantity::default());
}

#[test]
fn an_ordinary_amount_is_small() {
    assert!(size_of::<Quantity>() <= 16, "{} bytes", size_of::<Quantity>());
    for (spelling, form) in [
        ("7Ei", "units"),
        ("-9223372036854775808", "units"),
        ("-9223372036854775809", "nanos"),
        ("9223372036854775808", "nanos"),
        ("1m", "nanos"),
        ("100000000000E", "nanos"),
        ("1000000000000E", "large"),
    ] {
        let found = match amount(spelling).0 {
            Stored::Units { .. } => "units",
            Stored::Nanos { .. } => "nanos",
            Stored::Large { .. } => "large",
        };
        assert_eq!(found, form, "{spelling}");
    }
}

/// A spelling in parts, and what it is worth by the definition of its grammar.
#[derive(Clone, Debug)]
struct Written {
    text: String,
    nanos: BigInt,
}

fn written() -> impl Strategy<Value = Written> {
    let sign = prop_oneof![4 => Just(""), 1 => Just("-"), 1 => Just("+")];
    let whole = prop_oneof!["[0-9]{1,6}", "[0-9]{1,45}", "10{0,40}", "9{1,45}"];
    let fraction = prop_oneof![2 => Just(String::new()), 1 => "[0-9]{1,4}", 1 => "[0-9]{1,40}"];
    let suffix = (0_usize..17, -60_i32..60);
    (sign, whole, fraction, suffix).prop_map(|(sign, whole, fraction, (suffix, exponent))| {
        let point = if fraction.is_empty() { "" } else { "." };
        let (name, tens, twos) = match suffix {
            16 => (format!("e{exponent}"), exponent, 0),
            other => {
                let (name, tens, twos) = SUFFIXES[other];
                (name.to_owned(), tens, twos)
            }
        };
        let digits = format!("{whole}{fraction}").parse::<BigInt>().expect("digits");
        // In billionths, over a denominator that is a power of ten.
        let places = u32::try_from(fraction.len()).expect("short") + 200;
        let numerator =
            digits * (BigInt::from(1) << twos) * ten_to(u32::try_from(tens + 209).expect("≥ 0"));
        let denominator = ten_to(places);
        let mut nanos: BigInt = (numerator + &denominator - 1_u8) / denominator;
        if twos > 0 {
            nanos = nanos.min(BigInt::from(i64::MAX) * ten_to(9));
        }
        if sign == "-" {
            nanos = -nanos;
        }
        Written { text: format!("{sign}{whole}{point}{fraction}{name}"), nanos }
    })
}

/// Suffix, power of ten, power of two.
const SUFFIXES: [(&str, i32, u32); 16] = [
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

proptest! {
    #[test]
    fn has_the_value_that_exact_arithmetic_gives(written in written()) {
        prop_assert_eq!(nanos(&amount(&written.text)), written.nanos, "{}", written.text);
    }

    #[test]
    fn order_is_the_order_of_the_exact_values(one in written(), other in written()) {
        let (mine, theirs) = (amount(&one.text), amount(&other.text));
        prop_assert_eq!(mine.cmp(&theirs), one.nanos.cmp(&other.nanos));
        prop_assert_eq!(mine.is_positive(), one.nanos.sign() == Sign::Plus);
    }

    #[test]
    fn printing_keeps_the_value_and_its_hash(written in written()) {
        let quantity = amount(&written.text);
        let again = amount(&quantity.to_string());
        prop_assert_eq!(&again, &quantity);
        prop_assert_eq!(hash(&again), hash(&quantity));
    }

    #[test]
    fn each_suffix_is_the_one_before_it_scaled(number in 1_u32..1_000_000, place in 1_usize..16) {
        let (suffix, _, twos) = SUFFIXES[place];
        let (smaller, _, smaller_twos) = SUFFIXES[place - 1];
        // The decimal suffixes end where the binary ones begin.
        prop_assume!(suffix != "Ki");
        let step = if twos > smaller_twos { 1024_u64 } else { 1000 };
        let scaled = amount(&format!("{}{smaller}", u64::from(number) * step));
        prop_assert_eq!(scaled, amount(&format!("{number}{suffix}")));
    }

    #[test]
    fn rounding_up_to_units_adds_less_than_one(written in written()) {
        let exact = written.nanos;
        let units = amount(&written.text).rounded_up_units();
        prop_assume!(units != i128::MAX && units != i128::MIN);
        let added = BigInt::from(units) * ten_to(9) - &exact;
        let away = if exact.sign() == Sign::Minus { -added } else { added };
        prop_assert!(away >= BigInt::ZERO && away < ten_to(9));
    }

    #[test]
    fn no_text_breaks_the_parser(text in "\\PC*") {
        if let Ok(quantity) = Quantity::parse(&text) {
            prop_assert_eq!(quantity.cmp(&amount(&quantity.to_string())), Ordering::Equal);
        }
    }
}
