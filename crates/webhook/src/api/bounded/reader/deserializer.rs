//! What serde asks of the reader.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{RAW_TEXT, Reader, Unusual, VALUE_AND_TEXT};

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        match self.next_byte() {
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
        match self.next_byte() {
            b'n' => self.word("null").and_then(|()| visitor.visit_none()),
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
    #[inline]
    fn advance(&mut self, close: u8) -> Result<bool, Unusual> {
        if self.is_ended {
            return Ok(false);
        }
        let next = self.reader.next_byte();
        if next == close {
            self.reader.at += 1;
            self.is_ended = true;
            return Ok(false);
        }
        if !std::mem::replace(&mut self.is_first, false) {
            if next != b',' {
                return Err(Unusual);
            }
            self.reader.at += 1;
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
        self.reader.expect(b'"')?;
        // Not from the reader: a key that is skipped is a text too.
        match self.reader.read_text()? {
            Cow::Borrowed(text) => seed.deserialize(BorrowedStrDeserializer::new(text)),
            Cow::Owned(text) => seed.deserialize(StringDeserializer::new(text)),
        }
        .map(Some)
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
