//! What the documents say, read from their text: so a figure stands in one place only, and this program knows no number that a
//! reader does not see.
//!
//! A claim is a piece of a document with `{}` where its figure stands, and `#` where another row's figure or a setting does.
//! Blanks and line breaks are all the same.

use std::ops::Range;

/// A document with figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Readme,
}

impl Document {
    fn text(self) -> &'static str {
        match self {
            Self::Readme => include_str!("../../../README.md"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Readme => "README.md",
        }
    }

    /// Its words, with one blank between them.
    pub(crate) fn words(self) -> String {
        words(self.text())
    }
}

pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A figure in a text: its value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) value: f64,
    pub(crate) at: Range<usize>,
}

/// The one place where a claim stands in a text of [`words`].
pub(crate) fn find(text: &str, claim: &str) -> Result<Found, String> {
    let pieces = pieces(claim);
    if pieces
        .iter()
        .filter(|piece| **piece == Piece::Figure)
        .count()
        != 1
    {
        return Err(format!("{claim:?} has not one {{}}"));
    }
    let starts = text.char_indices().map(|(start, _)| start);
    let mut found = starts.filter_map(|start| matched(text, start, &pieces));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(format!("no text says {claim:?}")),
        (Some(_), Some(_)) => Err(format!("{claim:?} is said twice")),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(String),
    Figure,
    Other,
}

fn pieces(claim: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = claim;
    while let Some(at) = rest.find(['{', '#']) {
        pieces.push(Piece::Words(rest[..at].to_owned()));
        let (piece, length) = match rest[at..].starts_with("{}") {
            true => (Piece::Figure, 2),
            false => (Piece::Other, 1),
        };
        pieces.push(piece);
        rest = &rest[at + length..];
    }
    pieces.push(Piece::Words(rest.to_owned()));
    pieces
}

fn matched(text: &str, start: usize, pieces: &[Piece]) -> Option<Found> {
    let mut at = start;
    let mut found = None;
    for piece in pieces {
        match piece {
            Piece::Words(words) => {
                if !text[at..].starts_with(words) {
                    return None;
                }
                at += words.len();
            }
            Piece::Figure | Piece::Other => {
                let number = number(&text[at..]);
                // The end of a number is none.
                let before = text[..at].trim_end_matches(['.', ',']);
                if number.is_empty() || before.ends_with(|letter: char| letter.is_ascii_digit()) {
                    return None;
                }
                let range = at..at + number.len();
                at = range.end;
                if *piece == Piece::Figure {
                    let value = number.replace(',', "").parse().ok()?;
                    found = Some(Found { value, at: range });
                }
            }
        }
    }
    found
}

/// The number with which a text begins: digits, with a point or commas between them.
fn number(text: &str) -> &str {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && !".,".contains(letter))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ','])
}
