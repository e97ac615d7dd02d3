//! Bindery keeps PersistentVolumes ("volumes") and PersistentVolumeClaims ("claims") correctly
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
pub mod model;
pub mod sim;
