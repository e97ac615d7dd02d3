//! Reports as one HTML file that opens without a cluster, a server or a network.
//!
//! Here is what all reports share: escaping (`markup`), the page (`page`), charts (`bars`), drawn pairs (`pair`) and tables
//! with filters (`rows`). What a report puts on its page is in a file `html.rs` beside the report, and comes from the
//! value that `-o json` writes.

mod bars;
mod markup;
mod page;
mod pair;
mod rows;
#[cfg(test)]
pub(super) mod tests;

pub(super) use self::bars::{BarChart, NO_CLASS, NO_NAMESPACE};
pub(super) use self::markup::Markup;
pub(super) use self::page::{HtmlPage, Tone};
pub(super) use self::pair::{DrawnPair, PairLine};
pub(super) use self::rows::FilteredTable;
