//! That no way to reject is without a row: a new variant does not compile before it is named here, and does
//! not pass before a row hits it.

use std::collections::BTreeSet;

use bindery::api::review::{ReviewError, parse_request, prepare};
use bindery::rules::Policy;
use bindery::webhook::transport::rejection::Rejection;

use super::{full, heads, rows};

/// The variants of an enum, by name: a list, and a function that names the variant of a value.
macro_rules! variants {
    ($type:ident: $($name:ident $fields:tt),* $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        fn name(value: &$type) -> &'static str {
            match value {
                $($type::$name $fields => stringify!($name),)*
            }
        }
    };
}

mod of_reviews {
    use super::ReviewError;

    variants! {
        ReviewError:
        Unreadable(_),
        OtherKind { .. },
        NoRequest {},
        NoUid {},
        LongUid(_),
        TooDeep {},
        Text { .. },
        OtherResource(_),
        OtherSubresource(_),
        OtherOperation(_),
        Missing { .. },
        Object { .. },
    }

    pub(super) fn name_of(error: &ReviewError) -> &'static str {
        name(error)
    }

    pub(super) const ALL: &[&str] = NAMES;
}

#[test]
fn every_reason_that_makes_a_review_unreadable_has_a_row() {
    let mut hit = BTreeSet::new();
    for row in rows() {
        let mut body = row.body;
        let read = prepare(&mut body).and_then(|()| parse_request(&body, &Policy::default()));
        hit.insert(of_reviews::name_of(&read.expect_err(&row.line)));
    }
    let missed: Vec<_> = of_reviews::ALL.iter().filter(|name| !hit.contains(*name)).collect();
    assert!(missed.is_empty(), "no row hits {missed:?}");
}

/// Where an object cannot be read, each place of each object is reported.
#[test]
fn every_object_and_every_part_of_one_is_named_by_some_row() {
    let lines: Vec<String> = rows().into_iter().map(|row| row.line).collect();
    for field in ["object", "object.spec", "oldObject", "oldObject.spec"] {
        let reported = format!("request.{field} cannot be read: ");
        let count = lines.iter().filter(|line| line.starts_with(&reported)).count();
        assert!(count > 60, "{field}: {count} rows");
    }
}

mod of_requests {
    use super::Rejection;

    variants! {
        Rejection:
        BodyTooLarge { .. },
        BodyEncoded {},
        NotJson {},
        BodiesFull {},
        ReviewsFull {},
        BodyLate {},
        BodyBroken {},
        NotFound {},
        MethodNotAllowed {},
        Panicked {},
    }

    pub(super) fn name_of(denial: &Rejection) -> &'static str {
        name(denial)
    }

    pub(super) const ALL: &[&str] = NAMES;
}

#[test]
fn every_rejection_of_a_request_has_a_row() {
    let of_heads = heads::rows().into_iter().filter_map(|row| row.denial);
    let hit: BTreeSet<&str> = of_heads
        .chain(full::ROWS.iter().map(|row| row.denial))
        .map(|denial| of_requests::name_of(&denial))
        .collect();
    let missed: Vec<_> = of_requests::ALL.iter().filter(|name| !hit.contains(*name)).collect();
    assert!(missed.is_empty(), "no row hits {missed:?}");
}
