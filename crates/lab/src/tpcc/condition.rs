//! The consistency conditions of the specification (clauses 3.3.2.1 to 3.3.2.4) and their
//! violations.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A warehouse has earned as much as its districts: `W_YTD = sum(D_YTD)`.
    Earnings,
    /// A district's next order follows its last: `D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)`.
    NextOrder,
    /// Undelivered orders have no gaps: `max(NO_O_ID) - min(NO_O_ID) + 1 = rows`.
    Undelivered,
    /// Orders have as many lines as they say: `sum(O_OL_CNT) = rows of ORDER-LINE`.
    Lines,
}

/// A place where a condition does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub condition: Condition,
    pub warehouse: i64,
    /// The number of the district. 0 if the violation concerns the whole warehouse.
    pub district: i64,
    /// The two or three numbers that should agree. None stands for NULL.
    pub found: Vec<Option<i64>>,
}

impl Condition {
    /// All conditions, in the order of the specification.
    pub const ALL: [Self; 4] = [Self::Earnings, Self::NextOrder, Self::Undelivered, Self::Lines];

    /// The number of the condition in the specification: clause 3.3.2.`n`.
    pub const fn number(self) -> u32 {
        match self {
            Self::Earnings => 1,
            Self::NextOrder => 2,
            Self::Undelivered => 3,
            Self::Lines => 4,
        }
    }

    /// A query for the places that violate the condition. Its columns are warehouse, district, and
    /// the numbers that should agree.
    pub(super) const fn violations(self) -> &'static str {
        match self {
            Self::Earnings => {
                "SELECT w_id, 0, w_ytd, earned FROM warehouse LEFT JOIN
                 (SELECT d_w_id, sum(d_ytd) AS earned FROM district GROUP BY d_w_id)
                 ON d_w_id = w_id WHERE w_ytd IS NOT earned"
            }
            // If all orders of a district are delivered, NEW-ORDER has no row for it. That is
            // valid.
            Self::NextOrder => {
                "SELECT d_w_id, d_id, d_next_o_id - 1, last, undelivered FROM
                 (SELECT d_w_id, d_id, d_next_o_id,
                     (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS last,
                     (SELECT max(no_o_id) FROM new_order
                      WHERE no_w_id = d_w_id AND no_d_id = d_id) AS undelivered
                  FROM district)
                 WHERE d_next_o_id - 1 IS NOT last OR (undelivered NOTNULL AND undelivered <> last)"
            }
            Self::Undelivered => {
                "SELECT no_w_id, no_d_id, max(no_o_id) - min(no_o_id) + 1, count(*) FROM new_order
                 GROUP BY no_w_id, no_d_id
                 HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)"
            }
            Self::Lines => {
                "SELECT d_w_id, d_id, promised, found FROM
                 (SELECT d_w_id, d_id,
                     (SELECT sum(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
                     AS promised,
                     (SELECT count(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)
                     AS found
                  FROM district)
                 WHERE promised IS NOT found"
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "consistency condition {} of TPC-C", self.condition.number())?;
        write!(f, " does not hold: warehouse {}", self.warehouse)?;
        if self.district > 0 {
            write!(f, ", district {}", self.district)?;
        }
        let number = |number: &Option<i64>| number.map_or("none".to_owned(), |it| it.to_string());
        let found: Vec<String> = self.found.iter().map(number).collect();
        write!(f, ": {}", found.join(" against "))
    }
}
