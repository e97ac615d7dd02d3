//! The HTTPS port over real sockets with real certificates: handshakes, reloads, rejections, crowds
//! and the drain. Deadlines of minutes are tested in virtual time, beside the code.

mod callers;
mod crowds;
mod drain;
pub(crate) mod fixture;
mod handshakes;
mod lockout;
mod rejections;
mod reload;
