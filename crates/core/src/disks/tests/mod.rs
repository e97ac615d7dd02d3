//! The decisions about local disks: one by one, and against a world that does everything wrong.

mod cases;
mod jobs;
mod jobs_world;
mod killed;
mod offer;
pub(super) mod world;
