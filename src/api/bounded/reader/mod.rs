//! Reads JSON text as it usually is, faster than `serde_json`, which reads what is unusual.
//!
//! Most of an object is skipped (`managedFields` alone is a third of it), and `serde_json` takes twice as many instructions
//! for that as a loop that keeps nothing. Whatever is not accepted here is read by `serde_json` from the start: it
//! decides whether it is JSON, and its errors are those that a client sees. What is accepted here, it accepts as well, with
//! the same values: see the tests.

mod runs;

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

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

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn slice(&self, from: usize, to: usize) -> Result<&'de str, Unusual> {
        self.text.get(from..to).ok_or(Unusual)
    }

    fn skip_space(&mut self) {
        self.at = end_of_space(self.bytes(), self.at);
    }

    /// Skips white space and `byte`; whether it was there.
    fn take(&mut self, byte: u8) -> bool {
        let mut next = self.peek();
        if let Some(b' ' | b'\n' | b'\t' | b'\r') = next {
            self.skip_space();
            next = self.peek();
        }
        let is_there = next == Some(byte);
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
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.skip_text_with_escapes()
    }

    /// Skips the rest of a text from its first escape.
    #[cold]
    fn skip_text_with_escapes(&mut self) -> Result<bool, Unusual> {
        loop {
            let byte = self.peek().ok_or(Unusual)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(true),
                b'\\' => self.skip_escape()?,
                // A control character.
                _ => return Err(Unusual),
            }
            self.at = self.marks.next(self.bytes(), self.at);
        }
    }

    fn skip_escape(&mut self) -> Result<(), Unusual> {
        let byte = self.peek().ok_or(Unusual)?;
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
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Unusual) }
    }

    /// Skips a number; whether it is a whole one.
    fn skip_number(&mut self) -> Result<bool, Unusual> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let first = self.peek();
        let start = self.at;
        self.skip_digits()?;
        if first == Some(b'0') && self.at > start + 1 {
            return Err(Unusual);
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            is_whole = false;
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
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
                if self.take(b',') {
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.expect(if is_object { b'}' } else { b']' })?;
                depth -= 1;
                objects >>= 1;
            }
        }
    }

    /// Goes to the first member of an object or list and returns whether it is one of an object; skips any other value, an
    /// empty one too, and returns nothing.
    fn open_value(&mut self) -> Result<Option<bool>, Unusual> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                Ok(if self.take(b'}') { None } else { Some(true) })
            }
            Some(b'[') => {
                self.at += 1;
                Ok(if self.take(b']') { None } else { Some(false) })
            }
            _ => self.skip_scalar().map(|()| None),
        }
    }

    fn skip_scalar(&mut self) -> Result<(), Unusual> {
        match self.peek().ok_or(Unusual)? {
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

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.skip_space();
        match self.peek().ok_or(Unusual)? {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.deserialize_map(visitor),
            b'[' => {
                self.at += 1;
                let mut members = Members::of(self);
                let value = visitor.visit_seq(&mut members)?;
                members.whole(value)
            }
            b'n' => self.word("null").and_then(|()| visitor.visit_unit()),
            b't' => self.word("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => {
                let start = self.at;
                if !self.skip_number()? {
                    return Err(Unusual);
                }
                let digits = self.slice(start, self.at)?;
                match (digits.parse(), digits.parse()) {
                    (Ok(number), _) => visitor.visit_u64(number),
                    (Err(_), Ok(number)) if number != 0 => visitor.visit_i64(number),
                    // `-0` is no whole number to `serde_json`.
                    (Err(_), Ok(_) | Err(_)) => Err(Unusual),
                }
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.expect(b'"')?;
        match self.read_text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.expect(b'{')?;
        let mut members = Members::of(self);
        let value = visitor.visit_map(&mut members)?;
        members.whole(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.skip_space();
        match self.peek() {
            Some(b'n') => self.word("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unusual> {
        if name == RAW_TEXT {
            return self.raw().and_then(|text| visitor.visit_borrowed_str(text));
        }
        if name == VALUE_AND_TEXT {
            self.skip_space();
            let start = self.at;
            return visitor.visit_seq(ValueAndText { reader: self, start, is_read: false });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.skip_value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char string bytes byte_buf unit unit_struct seq tuple
        tuple_struct struct enum identifier
    }
}

/// A value, and then its text.
struct ValueAndText<'r, 'de> {
    reader: &'r mut Reader<'de>,
    start: usize,
    is_read: bool,
}

impl<'de> SeqAccess<'de> for ValueAndText<'_, 'de> {
    type Error = Unusual;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unusual> {
        if !std::mem::replace(&mut self.is_read, true) {
            return seed.deserialize(&mut *self.reader).map(Some);
        }
        let text = self.reader.slice(self.start, self.reader.at)?;
        seed.deserialize(BorrowedStrDeserializer::new(text)).map(Some)
    }
}

/// The members of an object or list whose bracket has been read.
struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    is_first: bool,
    is_ended: bool,
}

impl<'r, 'de> Members<'r, 'de> {
    fn of(reader: &'r mut Reader<'de>) -> Self {
        Self { reader, is_first: true, is_ended: false }
    }

    /// What was made of all members; an error if some were not asked for.
    fn whole<T>(&self, value: T) -> Result<T, Unusual> {
        if self.is_ended { Ok(value) } else { Err(Unusual) }
    }

    /// Goes to the next member; false at the end.
    fn advance(&mut self, close: u8) -> Result<bool, Unusual> {
        self.is_ended = self.is_ended || self.reader.take(close);
        if self.is_ended {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.is_first, false) {
            self.reader.expect(b',')?;
        }
        Ok(true)
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Unusual;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unusual> {
        if !self.advance(b'}')? {
            return Ok(None);
        }
        // A key that is skipped is a text too.
        self.reader.skip_space();
        if self.reader.peek() != Some(b'"') {
            return Err(Unusual);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unusual> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de> {
    type Error = Unusual;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unusual> {
        if !self.advance(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

#[cfg(test)]
mod tests;
