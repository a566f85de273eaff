//! Aggregates of a column.

use crate::row::Value;

/// Number, sum, least and greatest of the values of a column, without nulls. Sums are exact and are
/// of integers and times only; values of other types are counted and nothing more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Values that are not null.
    pub count: u64,
    /// Sum of the values.
    pub sum: i128,
    /// The least integer or time; None where there was none.
    pub least: Option<i64>,
    /// The greatest integer or time; None where there was none.
    pub greatest: Option<i64>,
}

impl Total {
    /// Count a value in. Cost: none on flash.
    pub fn add(&mut self, value: &Value<'_>) {
        match *value {
            Value::Null => {}
            Value::Integer(number) | Value::Time(number) => {
                self.count += 1;
                self.sum += i128::from(number);
                self.least = Some(self.least.map_or(number, |least| least.min(number)));
                self.greatest = self.greatest.max(Some(number));
            }
            Value::Bool(_) | Value::Real(_) | Value::Text(_) | Value::Blob(_) => self.count += 1,
        }
    }

    /// The mean of integers or times, rounded towards zero; None where there was none of them.
    pub fn mean(&self) -> Option<i64> {
        self.least?;
        let mean = self.sum.checked_div(i128::from(self.count))?;
        debug_assert!(
            i64::try_from(mean).is_ok(),
            "a mean lies between the least and the greatest"
        );
        i64::try_from(mean).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_do_not_overflow_and_nulls_do_not_count() {
        let mut total = Total::default();
        assert_eq!((total.mean(), total.least), (None, None));
        for value in [Value::Integer(i64::MAX), Value::Null, Value::Integer(i64::MAX - 2)] {
            total.add(&value);
        }
        assert_eq!((total.count, total.mean()), (2, Some(i64::MAX - 1)));
        assert_eq!((total.least, total.greatest), (Some(i64::MAX - 2), Some(i64::MAX)));
        let mut other = Total::default();
        other.add(&Value::Bool(true));
        assert_eq!((other.count, other.mean()), (1, None), "it is of no number");
        total.add(&Value::Text("counted"));
        assert_eq!((total.count, total.sum), (3, i128::from(i64::MAX) * 2 - 2));
    }
}
