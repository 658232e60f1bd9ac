//! Tries what `canonical` claims: worlds with the same number have the same future.
