//! Probes and their combination, in virtual time.
