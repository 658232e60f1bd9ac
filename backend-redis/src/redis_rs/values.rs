//! What redis-rs's values say, in words that every driver shares.

use redis::Value;

use crate::probe::Said;

pub(crate) fn said(value: &Value) -> Said {
    if let Some(text) = text(value) {
        return Said::Text(text.to_owned());
    }
    match value {
        Value::Array(fields) => Said::List(fields.iter().map(said).collect()),
        Value::ServerError(error) => {
            Said::Refused(error.code().to_owned(), error.details().map(str::to_owned))
        }
        Value::Nil => Said::Other("nil"),
        Value::Int(_) => Said::Other("a number"),
        Value::BulkString(_) => Said::Other("bytes"),
        Value::Okay => Said::Other("OK"),
        _ => Said::Other("something else"),
    }
}

/// A word, or a longer text that is marked as one.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::VerbatimString { text, .. } => Some(text),
        other => word(other),
    }
}

/// What is a word in answers of either protocol.
pub(crate) fn word(value: &Value) -> Option<&str> {
    match value {
        Value::SimpleString(text) => Some(text),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P150
    #[test]
    fn a_text_is_a_text_however_it_was_sent() {
        for pong in [
            Value::SimpleString("PONG".into()),
            Value::BulkString(b"PONG".to_vec()),
        ] {
            assert!(matches!(said(&pong), Said::Text(text) if text == "PONG"));
        }
        let role = Value::Array(vec![Value::BulkString(b"master".to_vec()), Value::Int(0)]);
        let Said::List(fields) = said(&role) else {
            panic!("{role:?}")
        };
        assert!(matches!(&fields[..], [Said::Text(role), Said::Other(_)] if role == "master"));
        for other in [Value::Okay, Value::Nil, Value::BulkString(vec![0xff])] {
            assert!(matches!(said(&other), Said::Other(_)), "{other:?}");
        }
    }
}
