//! API objects, reviews, patches and registrations, to and from the model. It decides nothing.

pub mod bounded;
pub mod bundle;
pub mod claim;
pub mod class;
mod digest;
pub mod event;
pub mod fixture;
pub mod installation;
pub mod list;
pub mod managers;
pub mod metadata;
pub mod namespace;
pub mod node;
mod object;
pub mod patch;
pub mod pods;
pub mod quantity;
pub mod registration;
pub mod review;
pub mod scheduling;
pub mod secret;
pub mod server;
mod spec_change;
mod storage;
pub mod topology;
pub mod volume;
pub mod write;
