//! Reads JSON text as it usually is, faster than `serde_json`, which reads what is unusual.
//!
//! Most of an object is skipped (`managedFields` alone is a third of it), and `serde_json` takes twice as many instructions
//! for that as a loop that keeps nothing. Whatever is not accepted here is read by `serde_json` from the start: it
//! decides whether it is JSON, and its errors are those that a client sees. What is accepted here, it accepts as well, with
//! the same values: see the tests.

mod deserializer;
mod runs;

use std::borrow::Cow;
use std::fmt;

use serde::de::Error;

use self::runs::{TextMarks, end_of_space};

/// The name of the newtype by which a value is asked for as text, see [`RawText`](super::RawText).
pub(super) const RAW_TEXT: &str = "bindery raw text";

/// The name of the newtype by which a value is asked for with its text, see [`WithText`](super::WithText).
pub(super) const VALUE_AND_TEXT: &str = "bindery value and text";

/// Values inside each other at most; deeper ones are left to `serde_json`. As many as one word has bits.
const NESTING_MAX: u32 = 64;

/// Not accepted here, for a reason that `serde_json` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unusual JSON")
    }
}

impl std::error::Error for Unusual {}

impl Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A place in a text.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    marks: TextMarks,
}

impl<'de> Reader<'de> {
    /// The beginning of a text.
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0, marks: TextMarks::new() }
    }

    /// An error unless nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), Unusual> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(Unusual) }
    }

    fn bytes(&self) -> &'de [u8] {
        self.text.as_bytes()
    }

    /// The next byte. At the end a zero, which is nowhere part of JSON.
    fn peek(&self) -> u8 {
        self.bytes().get(self.at).copied().unwrap_or(0)
    }

    fn slice(&self, from: usize, to: usize) -> Result<&'de str, Unusual> {
        self.text.get(from..to).ok_or(Unusual)
    }

    fn skip_space(&mut self) {
        self.at = end_of_space(self.bytes(), self.at);
    }

    /// Skips white space and returns what is behind it.
    #[inline]
    fn next_byte(&mut self) -> u8 {
        let next = self.peek();
        // An API server sends no space between its tokens.
        if next > b' ' {
            return next;
        }
        self.skip_space();
        self.peek()
    }

    /// Skips white space and `byte`; whether it was there.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.next_byte() == byte;
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unusual> {
        if self.take(byte) { Ok(()) } else { Err(Unusual) }
    }

    fn word(&mut self, word: &str) -> Result<(), Unusual> {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        let is_there = rest.starts_with(word.as_bytes());
        self.at += word.len();
        if is_there { Ok(()) } else { Err(Unusual) }
    }

    /// Skips a text whose quote has been read; whether it has an escape.
    #[inline]
    fn skip_text(&mut self) -> Result<bool, Unusual> {
        self.at = self.marks.next(self.bytes(), self.at);
        if self.peek() == b'"' {
            self.at += 1;
            return Ok(false);
        }
        self.skip_text_with_escapes()
    }

    /// Skips the rest of a text from its first escape.
    #[cold]
    fn skip_text_with_escapes(&mut self) -> Result<bool, Unusual> {
        loop {
            let byte = self.peek();
            self.at += 1;
            match byte {
                b'"' => return Ok(true),
                b'\\' => self.skip_escape()?,
                // A control character, or the end.
                _ => return Err(Unusual),
            }
            self.at = self.marks.next(self.bytes(), self.at);
        }
    }

    fn skip_escape(&mut self) -> Result<(), Unusual> {
        let byte = self.peek();
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.bytes().get(self.at..self.at + 4).ok_or(Unusual)?;
                self.at += 4;
                if digits.iter().all(u8::is_ascii_hexdigit) { Ok(()) } else { Err(Unusual) }
            }
            _ => Err(Unusual),
        }
    }

    /// Reads a text whose quote has been read.
    fn read_text(&mut self) -> Result<Cow<'de, str>, Unusual> {
        let open = self.at;
        if self.skip_text()? {
            let token = self.slice(open - 1, self.at)?;
            return serde_json::from_str(token).map(Cow::Owned).map_err(|_| Unusual);
        }
        self.slice(open, self.at - 1).map(Cow::Borrowed)
    }

    /// Skips digits; an error if there is none.
    fn skip_digits(&mut self) -> Result<(), Unusual> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Unusual) }
    }

    /// Skips a number; whether it is a whole one.
    fn skip_number(&mut self) -> Result<bool, Unusual> {
        self.at += usize::from(self.peek() == b'-');
        let first = self.peek();
        let start = self.at;
        self.skip_digits()?;
        if first == b'0' && self.at > start + 1 {
            return Err(Unusual);
        }
        let mut is_whole = true;
        if self.peek() == b'.' {
            is_whole = false;
            self.at += 1;
            self.skip_digits()?;
        }
        if let b'e' | b'E' = self.peek() {
            is_whole = false;
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.skip_digits()?;
        }
        Ok(is_whole)
    }

    fn skip_key(&mut self) -> Result<(), Unusual> {
        self.expect(b'"')?;
        self.skip_text()?;
        self.expect(b':')
    }

    /// Skips a value.
    fn skip_value(&mut self) -> Result<(), Unusual> {
        // One bit for each value that is open, the innermost first: set for an object.
        let (mut depth, mut objects) = (0, 0_u64);
        loop {
            if let Some(is_object) = self.open_value()? {
                if depth == NESTING_MAX {
                    return Err(Unusual);
                }
                depth += 1;
                objects = objects << 1 | u64::from(is_object);
                if is_object {
                    self.skip_key()?;
                }
                continue;
            }
            // A value has ended; those around it may end with it.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let is_object = objects & 1 == 1;
                let next = self.next_byte();
                self.at += 1;
                match (next, is_object) {
                    (b',', true) => {
                        self.skip_key()?;
                        break;
                    }
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => {
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return Err(Unusual),
                }
            }
        }
    }

    /// Goes to the first member of an object or list and returns whether it is one of an object; skips any other value, an
    /// empty one too, and returns nothing.
    #[inline]
    fn open_value(&mut self) -> Result<Option<bool>, Unusual> {
        let (close, is_object) = match self.next_byte() {
            b'{' => (b'}', true),
            b'[' => (b']', false),
            other => return self.skip_scalar(other).map(|()| None),
        };
        self.at += 1;
        Ok(if self.take(close) { None } else { Some(is_object) })
    }

    /// Skips a value that begins with `first` and has no members.
    #[inline]
    fn skip_scalar(&mut self, first: u8) -> Result<(), Unusual> {
        match first {
            b'"' => {
                self.at += 1;
                self.skip_text().map(drop)
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.skip_number().map(drop),
        }
    }

    /// The text of the next value.
    fn raw(&mut self) -> Result<&'de str, Unusual> {
        self.skip_space();
        let start = self.at;
        self.skip_value()?;
        self.slice(start, self.at)
    }
}

/// The members of an object, each with the text of its value, in order.
#[derive(Debug)]
pub struct MemberTexts<'de> {
    reader: Reader<'de>,
    is_first: bool,
    is_over: bool,
}

impl<'de> MemberTexts<'de> {
    /// Those of the object that `text` is.
    pub fn of(text: &'de str) -> Self {
        Self { reader: Reader::new(text), is_first: true, is_over: false }
    }

    fn advance(&mut self) -> Result<Option<(Cow<'de, str>, &'de str)>, Unusual> {
        let reader = &mut self.reader;
        if std::mem::replace(&mut self.is_first, false) {
            reader.expect(b'{')?;
            if reader.take(b'}') {
                return reader.end().map(|()| None);
            }
        } else if !reader.take(b',') {
            return reader.expect(b'}').and_then(|()| reader.end()).map(|()| None);
        }
        reader.expect(b'"')?;
        let key = reader.read_text()?;
        reader.expect(b':')?;
        Ok(Some((key, reader.raw()?)))
    }
}

impl<'de> Iterator for MemberTexts<'de> {
    /// An error where the text is not one that is read here; it is the last item.
    type Item = Result<(Cow<'de, str>, &'de str), Unusual>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let member = self.advance();
        self.is_over = !matches!(member, Ok(Some(_)));
        member.transpose()
    }
}

#[cfg(test)]
mod tests;
