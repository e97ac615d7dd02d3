//! An amount of storage, exactly as the Kubernetes API server reads, compares and prints it.
//!
//! It exists because amounts decide which volume a claim gets: floating point, or text with its
//! suffix cut off, gets `0.5Gi`, `1e9` and `100m` wrong, and the API server re-spells what users
//! write (`1.5Gi` comes back as `1536Mi`), so text cannot be compared either.
//!
//! Not here: the white space that the API server trims around an amount, and amounts written as
//! JSON numbers or `null`; the JSON border deals with those.

mod large;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use self::large::Large;
pub use self::parse::QuantityError;

/// An exact amount: a whole number of billionths of a unit, of any size.
///
/// Order, equality and hash look at the value alone: `1Ki`, `1024` and `1.024k` are the same
/// amount. The family of suffixes that an amount was written with is remembered for printing only.
///
/// It takes 16 bytes. An amount of less than 2⁶³ whole units allocates nothing; a fraction, and what is
/// larger, stands in a box.
///
/// Kubernetes: `k8s.io/apimachinery/pkg/api/resource`, 1.36.3.
///
/// **Differs from Kubernetes**
///
/// * Display is always the canonical form. Kubernetes repeats some amounts as they were typed
///   (`+5`, `0010`, `5.001`), which says nothing about the value.
/// * Display never loses digits: `1000E` prints as itself. Kubernetes has no suffix above `E` and
///   prints `1`, an amount 10²¹ times smaller.
/// * Amounts with an enormous exponent (`1e2000000000`) are compared at once. Kubernetes computes
///   the power of ten first, which takes minutes and gigabytes.
#[derive(Clone)]
pub struct Quantity(Stored);

/// How an amount is kept: in the first of these forms that holds it, so that every value has one form.
/// The family sits inside the variants because beside them it would cost a word.
#[derive(Clone)]
enum Stored {
    Units { units: i64, family: Family },
    Nanos { nanos: Box<i128>, family: Family },
    Large { large: Box<Large>, family: Family },
}

/// An amount as it is reckoned with. It is `Large` only if it does not fit `Nanos`, so that unequal
/// variants are unequal amounts.
enum Amount<'a> {
    Nanos(i128),
    Large(&'a Large),
}

/// Family of suffixes that an amount was written with, and is printed with.
///
/// Kubernetes: `Format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// `n u m k M G T P E`, or no suffix.
    Decimal,
    /// `Ki Mi Gi Ti Pi Ei`.
    Binary,
    /// `e3`, `E-3`.
    Exponent,
}

/// Steps in one unit. Kubernetes: `Nano` is the finest scale that it keeps.
const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// Steps in a thousandth of a unit. Kubernetes: the finest scale of a stored resource.
const NANOS_PER_THOUSANDTH: i128 = 1_000_000;

impl Quantity {
    /// No storage at all; what a missing capacity or request counts as.
    pub const ZERO: Self = Self(Stored::Units { units: 0, family: Family::Decimal });

    /// Returns whether there is more than nothing.
    pub fn is_positive(&self) -> bool {
        match self.amount() {
            Amount::Nanos(nanos) => nanos > 0,
            Amount::Large(large) => !large.is_negative(),
        }
    }

    /// The amount in whole units (bytes, for storage), a fraction rounded away from zero.
    ///
    /// This is what Kubernetes compares when a claim names its volume, where matching compares
    /// exactly: 9.2 and 9.7 bytes are both 10.
    ///
    /// **Differs from Kubernetes**: `Quantity.Value()` overflows above 2⁶³−1 units (`10E` counts
    /// as 0); this saturates at the ends of `i128`, far above any disk.
    pub fn rounded_up_units(&self) -> i128 {
        match self.amount() {
            Amount::Nanos(nanos) => {
                let up = i128::from(nanos % NANOS_PER_UNIT != 0);
                nanos / NANOS_PER_UNIT + nanos.signum() * up
            }
            Amount::Large(large) => large.rounded_up_units(),
        }
    }

    /// The amount as the API server stores it in a capacity or a request: rounded away from zero to
    /// thousandths of a unit.
    ///
    /// An amount of more than 1.7 × 10²⁹ units stays as it is: no such volume exists, whatever its
    /// fraction.
    ///
    /// Kubernetes: `pkg/apis/core/v1/defaults.go`, `SetDefaults_ResourceList`; found by asking a
    /// server of 1.36.3, which answers `1m` to a request for `1n`.
    pub fn rounded_up_to_thousandths(self) -> Self {
        match self.amount() {
            Amount::Nanos(nanos) => {
                let rest = nanos % NANOS_PER_THOUSANDTH;
                let up = if rest == 0 { 0 } else { nanos.signum() * NANOS_PER_THOUSANDTH };
                // Next to the ends of the range there is no thousandth to round to.
                let rounded = (nanos - rest).checked_add(up).unwrap_or(nanos);
                Self::from_nanos(rounded, self.family())
            }
            Amount::Large(_) => self,
        }
    }

    /// An amount of so many billionths of a unit.
    fn from_nanos(nanos: i128, family: Family) -> Self {
        let units = i64::try_from(nanos / NANOS_PER_UNIT);
        Self(match units {
            Ok(units) if nanos % NANOS_PER_UNIT == 0 => Stored::Units { units, family },
            Ok(_) | Err(_) => Stored::Nanos { nanos: Box::new(nanos), family },
        })
    }

    fn from_large(large: Large, family: Family) -> Self {
        Self(Stored::Large { large: Box::new(large), family })
    }

    fn amount(&self) -> Amount<'_> {
        match &self.0 {
            Stored::Units { units, .. } => Amount::Nanos(i128::from(*units) * NANOS_PER_UNIT),
            Stored::Nanos { nanos, .. } => Amount::Nanos(**nanos),
            Stored::Large { large, .. } => Amount::Large(large),
        }
    }

    fn family(&self) -> Family {
        match &self.0 {
            Stored::Units { family, .. }
            | Stored::Nanos { family, .. }
            | Stored::Large { family, .. } => *family,
        }
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Stored::Units { units: mine, .. }, Stored::Units { units: theirs, .. }) =
            (&self.0, &other.0)
        {
            return mine.cmp(theirs);
        }
        match (self.amount(), other.amount()) {
            (Amount::Nanos(mine), Amount::Nanos(theirs)) => mine.cmp(&theirs),
            (Amount::Large(mine), Amount::Large(theirs)) => mine.cmp(theirs),
            // A large amount lies beyond every small one, on the side of its sign.
            (Amount::Large(large), Amount::Nanos(_)) => large.against_small(),
            (Amount::Nanos(_), Amount::Large(large)) => large.against_small().reverse(),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.amount() {
            Amount::Nanos(nanos) => nanos.hash(state),
            Amount::Large(large) => large.hash(state),
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Quantity({self})")
    }
}
