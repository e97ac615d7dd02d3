//! Tables of metrics: each is declared once, and its help is its documentation.

use prometheus::Registry;
use prometheus::core::Collector;

/// A metric as it is declared, for the reference page.
#[derive(Clone, Copy, Debug)]
pub struct MetricRow {
    /// The name.
    pub name: &'static str,
    /// The type in this crate, such as `IntCounterVec`.
    pub kind: &'static str,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The help, as scrapes show it.
    pub help: &'static str,
}

/// Registers a metric and returns it.
pub fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

/// Declares a struct of metrics, and its `register`. A metric is `field: Kind = "name" ["label"] in BOUNDS`, or
/// `field: Kind = "name" (1)` if it does not start at zero; labels and bounds may be missing. Fields that are no metric
/// follow after `and`, with their values.
#[macro_export]
macro_rules! metric_table {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $table:ident {$(
            $(#[doc = $help:literal])+
            $field_visible:vis $field:ident: $kind:ident = $name:literal
                $([$($label:literal),+])? $(in $bounds:ident)? $(($start:literal))?
        ),+ $(,)?}
        $(and($registry:ident) {$(
            $(#[$part_attribute:meta])*
            $part_visible:vis $part:ident: $part_type:ty = $value:expr
        ),+ $(,)?})?
    ) => {
        $(#[$attribute])*
        #[allow(clippy::doc_markdown, reason = "the help is plain text")]
        $visible struct $table {
            $($(#[doc = $help])+ $field_visible $field: $kind,)+
            $($($(#[$part_attribute])* $part_visible $part: $part_type,)+)?
        }

        impl $table {
            /// The metrics of the table.
            $visible const METRICS: &'static [$crate::telemetry::registry::MetricRow] = &[$(
                $crate::telemetry::registry::MetricRow {
                    name: $name,
                    kind: stringify!($kind),
                    labels: &[$($($label),+)?],
                    help: concat!($($help),+).trim_ascii_start(),
                },
            )+];

            /// Registers all metrics of the table.
            $visible fn register(registry: &::prometheus::Registry) -> Result<Self, ::prometheus::Error> {
                $(
                    let $field = $crate::telemetry::registry::metric_table!(
                        @new $kind, $name, concat!($($help),+).trim_start()
                        $(, [$($label),+])? $(; $bounds)?
                    )?;
                    let $field = $crate::telemetry::registry::register(registry, $field)?;
                    $($field.set($start);)?
                )+
                $(let $registry = registry;)?
                Ok(Self { $($field,)+ $($($part: $value,)+)? })
            }
        }
    };
    (@new $kind:ident, $name:literal, $help:expr) => {
        $kind::with_opts(::prometheus::Opts::new($name, $help))
    };
    (@new $kind:ident, $name:literal, $help:expr, $labels:expr) => {
        $kind::new(::prometheus::Opts::new($name, $help), &$labels)
    };
    (@new $kind:ident, $name:literal, $help:expr; $bounds:expr) => {
        $kind::with_opts(::prometheus::HistogramOpts::new($name, $help).buckets($bounds.to_vec()))
    };
    (@new $kind:ident, $name:literal, $help:expr, $labels:expr; $bounds:expr) => {
        $kind::new(
            ::prometheus::HistogramOpts::new($name, $help).buckets($bounds.to_vec()),
            &$labels,
        )
    };
}
pub use metric_table;
