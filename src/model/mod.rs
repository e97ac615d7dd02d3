//! Values of the domain: volumes, claims, classes and what they are made of.
