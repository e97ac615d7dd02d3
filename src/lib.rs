//! Bindery keeps `PersistentVolume`s ("volumes") and `PersistentVolumeClaim`s ("claims") correctly
//! married: one pure binding core, shown to the world as an admission webhook, a command line and,
//! next, a controller.
//!
//! ```text
//!             bytes                        bytes
//!               │                            ▲
//!    cli ──── webhook                        │     shells: async, I/O, clocks
//!     └─── cluster ──┘                       │     client, watches, live reads
//!              │          sim                │     the same API server, in memory
//!             k8s ─────────┘                 │     the only place that spells API fields
//!              │                             │
//!            rules ── binding ── model ──────┘     pure: no async, no I/O, no clock
//! ```
pub mod binding;
pub mod certificates;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod document;
pub mod k8s;
pub mod model;
pub mod rules;
pub mod sim;
pub mod telemetry;
pub mod webhook;
