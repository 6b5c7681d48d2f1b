//! An array of rows within a row, in PostgreSQL's binary format: the driver itself reads arrays of one type only.

use std::error::Error;

use tokio_postgres::types::{FromSql, Type};

pub(crate) type Parsed<T> = Result<T, Box<dyn Error + Sync + Send>>;

/// The rows of an expression such as `ARRAY(SELECT ROW(...) ...)`.
pub(crate) struct Records<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Records<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Parsed<Self> {
        Ok(Self(raw))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::RECORD_ARRAY
    }
}

impl<'a> Records<'a> {
    /// Reads each row with a function that takes its fields in order.
    pub(crate) fn read<T>(&self, row: impl Fn(&mut Fields<'a>) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut raw = Bytes(self.0);
        let dimensions = raw.number()?;
        let (_has_nulls, _type) = (raw.number()?, raw.number()?);
        if dimensions == 0 {
            return Ok(Vec::new());
        }
        let (count, _lower_bound) = (raw.number()?, raw.number()?);
        if dimensions != 1 {
            return Err("an array of rows has one dimension".into());
        }
        let mut rows = Vec::with_capacity(usize::try_from(count)?.min(1024));
        for _ in 0..count {
            let mut fields = Bytes(raw.value()?.ok_or("a row of an array is missing")?);
            let _count = fields.number()?;
            rows.push(row(&mut Fields(fields))?);
        }
        Ok(rows)
    }
}

/// The fields of a row that were not taken yet.
pub(crate) struct Fields<'a>(Bytes<'a>);

impl<'a> Fields<'a> {
    /// Returns the next field.
    pub(crate) fn take<T: FromSql<'a>>(&mut self) -> Parsed<T> {
        let oid = u32::try_from(self.0.number()?)?;
        let ty = Type::from_oid(oid).filter(T::accepts).ok_or("a field of a row has another type")?;
        T::from_sql_nullable(&ty, self.0.value()?)
    }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn number(&mut self) -> Parsed<i32> {
        let (number, rest) = self.0.split_first_chunk().ok_or("a row ends early")?;
        self.0 = rest;
        Ok(i32::from_be_bytes(*number))
    }

    /// Returns a value after its length; nothing for NULL.
    fn value(&mut self) -> Parsed<Option<&'a [u8]>> {
        let Ok(length) = usize::try_from(self.number()?) else { return Ok(None) };
        let (value, rest) = self.0.split_at_checked(length).ok_or("a row ends early")?;
        self.0 = rest;
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of a text and a number, the second number NULL, as the server sends them.
    fn sample() -> Vec<u8> {
        let number = |n: i32| n.to_be_bytes().to_vec();
        let field = |oid: i32, value: &[u8]| [number(oid), number(value.len() as i32), value.to_vec()].concat();
        let first = [number(2), field(25, b"one"), field(23, &number(1))].concat();
        let second = [number(2), field(25, b"two"), number(23), number(-1)].concat();
        let row = |row: Vec<u8>| [number(row.len() as i32), row].concat();
        [number(1), number(0), number(2249), number(2), number(1), row(first), row(second)].concat()
    }

    fn read(raw: &[u8]) -> Parsed<Vec<(String, Option<i32>)>> {
        Records(raw).read(|fields| Ok((fields.take()?, fields.take()?)))
    }

    #[test]
    fn rows_are_read_field_by_field() {
        let rows = read(&sample()).unwrap();
        assert_eq!(rows, [("one".to_owned(), Some(1)), ("two".to_owned(), None)]);
        let empty = [0_i32, 0, 2249].map(i32::to_be_bytes).concat();
        assert_eq!(read(&empty).unwrap(), []);
    }

    #[test]
    fn what_is_cut_short_or_of_another_type_is_an_error() {
        let sample = sample();
        for length in 0..sample.len() {
            assert!(read(&sample[..length]).is_err(), "cut to {length} bytes");
        }
        assert!(Records(&sample).read(|fields| fields.take::<i64>()).is_err());
    }
}
