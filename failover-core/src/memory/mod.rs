//! The embedded backend: in-process members with injectable faults.
