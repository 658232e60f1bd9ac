//! What a mistyped word was probably meant to be.
//!
//! Every error about a word ends with it, so it stands in one place and reads the same everywhere. It only compares
//! and words; what is known is the caller's.

/// Longer words are no typing mistakes, and comparing them costs their length.
const LONGEST_WORD: usize = 64;

/// How many known words an error lists where none is near.
const LISTED: usize = 24;

/// The known word that is nearest, where one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word = normal(word);
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word, &normal(candidate)),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The end of an error about `word`: the nearest known word, or all of them. `kind` is their plural, as `keys`.
pub(super) fn hint<'a>(
    word: &str,
    kind: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return format!(", did you mean `{near}`?");
    }
    let mut words: Vec<&str> = known.into_iter().collect();
    words.sort_unstable();
    words.dedup();
    let more = words.len().saturating_sub(LISTED);
    words.truncate(LISTED);
    match (words.as_slice(), more) {
        ([], _) => String::new(),
        (_, 0) => format!("; known {kind}: {}", words.join(", ")),
        (_, more) => format!("; known {kind}: {} and {more} more", words.join(", ")),
    }
}

/// `Probe-Delay` and `probe_delay` are the same mistake.
fn normal(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}
