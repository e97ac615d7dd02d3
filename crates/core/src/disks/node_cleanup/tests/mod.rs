//! The decisions about volumes of lost nodes: one by one, and in lives of a StatefulSet.

mod cases;
mod lives;
