//! Reads after a switch between servers that replicate: what they wait for, and when they stop waiting.
