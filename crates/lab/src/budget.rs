//! Budgets: a TOML file that limits what a program may cost on flash, and the check of a run
//! against it.
//!
//! A limit holds for the whole run, for the statements whose text matches a pattern, or for a table
//! or index. The cost of a statement includes its share of the commits that it took part in.
//! `per_execution` limits hold for the mean cost of one execution of the statement.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use flysch_chip::fields::told;
use serde::{Deserialize, Serialize};

use crate::bench::run::Run;
use crate::contents::Writes;
use crate::trace::Operations;

/// The costs of a run or of a part of it, or the limits on them. None: not known, or not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Page programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<f64>,
    /// Block erases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erases: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syncs: Option<f64>,
    /// Bytes that SQLite wrote to files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<f64>,
    /// Milliseconds. For the whole run this is the time of the run; for a statement or a table it
    /// is the time that the flash was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OfStatements {
    /// The statement's text, in which literals are left out. `*` stands for any characters.
    matches: String,
    #[serde(flatten)]
    limits: Rest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    per_execution: Option<Limits>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfTable {
    /// The name of a table or index.
    name: String,
    programs: Option<f64>,
    erases: Option<f64>,
    syncs: Option<f64>,
    bytes_written: Option<f64>,
    time_ms: Option<f64>,
}

/// The limits of a statement, by name. It is a map because serde cannot flatten [`Limits`] into a
/// struct next to `per_execution`.
type Rest = BTreeMap<String, f64>;

/// The limits of a program, as its TOML file holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    #[serde(default)]
    all: Limits,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    statement: Vec<OfStatements>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    table: Vec<OfTable>,
}

/// What a run used, to be compared with a budget.
pub struct Usage<'a> {
    pub run: &'a Run,
    pub syncs: u64,
    /// Bytes written and syncs of each statement, by its text.
    pub writes: Vec<(String, Writes)>,
    /// Bytes written and syncs of each table and index, by its name.
    pub of_tables: BTreeMap<String, Writes>,
}

/// A cost that exceeds its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excess {
    /// What the limit is for: `all` (the run), the pattern of a statement, or the name of a table
    /// or index.
    pub of: String,
    pub what: String,
    pub limit: f64,
    pub used: f64,
}

/// The names of limits, in the order of the fields of [`Limits`].
const NAMES: [&str; 5] = ["programs", "erases", "syncs", "bytes_written", "time_ms"];

impl Limits {
    const fn values(&self) -> [Option<f64>; 5] {
        [self.programs, self.erases, self.syncs, self.bytes_written, self.time_ms]
    }

    const fn of(values: [Option<f64>; 5]) -> Self {
        let [programs, erases, syncs, bytes_written, time_ms] = values;
        Self { programs, erases, syncs, bytes_written, time_ms }
    }

    /// The costs in `used` that exceed these limits.
    fn exceeded(&self, of: &str, per: &str, used: &Self) -> Vec<Excess> {
        let all = NAMES.iter().zip(self.values()).zip(used.values());
        let over = all.filter_map(|((name, limit), used)| match (limit, used) {
            (Some(limit), Some(used)) if used > limit => {
                Some(Excess { of: of.to_owned(), what: format!("{name}{per}"), limit, used })
            }
            _ => None,
        });
        over.collect()
    }

    /// The mean of these costs over `count` executions.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    fn per(&self, count: u64) -> Self {
        let mean = |value: f64| rounded(value / count.max(1) as f64);
        Self::of(self.values().map(|value| value.map(mean)))
    }

    fn add(&mut self, more: &Self) {
        let sums = self.values().into_iter().zip(more.values());
        let mut sums = sums.map(|(one, other)| match (one, other) {
            (None, None) => None,
            (one, other) => Some(rounded(one.unwrap_or(0.0) + other.unwrap_or(0.0))),
        });
        *self = Self::of(std::array::from_fn(|_| sums.next().flatten()));
    }
}

/// Three decimals, as costs are written to a file that people read, and compared with it.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn used(operations: &Operations, time_ns: u64, writes: Option<Writes>) -> Limits {
    Limits {
        programs: Some(operations.page_programs as f64),
        erases: Some(operations.block_erases as f64),
        syncs: writes.map(|it| it.syncs as f64),
        bytes_written: writes.map(|it| it.bytes as f64),
        time_ms: Some(rounded(time_ns as f64 / 1e6)),
    }
}

impl Usage<'_> {
    fn all(&self) -> Limits {
        let Run { operations, time_ns, bytes, .. } = self.run;
        used(operations, *time_ns, Some(Writes { bytes: *bytes, syncs: self.syncs }))
    }

    /// How often the statements that match were executed, and what they cost together. None if no
    /// statement matches.
    fn statements(&self, pattern: &str) -> Option<(u64, Limits)> {
        let mut sum: Option<(u64, Limits)> = None;
        for row in &self.run.by_statement {
            if !is_match(pattern, &row.statement) {
                continue;
            }
            let writes = self.writes.iter().find(|(text, _)| *text == row.statement);
            let writes = writes.map(|(_, writes)| *writes).unwrap_or_default();
            let costs = used(&row.with_commit, row.with_commit.flash_ns, Some(writes));
            let (count, limits) = sum.get_or_insert_with(Default::default);
            *count += row.executions;
            limits.add(&costs);
        }
        sum
    }

    fn table(&self, name: &str) -> Option<Limits> {
        let rows = self.run.by_table.iter().filter(|row| row.name == name);
        let costs = rows.map(|row| used(&row.operations, row.operations.flash_ns, None));
        let mut sum = costs.reduce(|mut sum, more| {
            sum.add(&more);
            sum
        })?;
        let writes = self.of_tables.get(name).copied().unwrap_or_default();
        sum.add(&used(&Operations::default(), 0, Some(writes)));
        Some(sum)
    }
}

impl Budget {
    /// Parse a budget.
    ///
    /// # Errors
    /// Says in a line what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let budget: Self = toml::from_str(text).map_err(|error| told(text, &error))?;
        for one in &budget.statement {
            if let Some(name) = one.limits.keys().find(|name| !NAMES.contains(&name.as_str())) {
                let known = NAMES.join(", ");
                return Err(format!(
                    "statement '{}': unknown limit `{name}` (known: {known})",
                    one.matches
                ));
            }
        }
        budget.impossible().map_or(Ok(budget), Err)
    }

    /// A line that names a limit that is no number from 0 on. None if all of them are.
    fn impossible(&self) -> Option<String> {
        let of_statements = self.statement.iter().flat_map(|one| {
            let of = format!("statement '{}'", one.matches);
            let per = one.per_execution.unwrap_or_default();
            [(of.clone(), one.limits()), (format!("{of}: per_execution"), per)]
        });
        let of_tables =
            self.table.iter().map(|one| (format!("table '{}'", one.name), one.limits()));
        let mut all = of_statements.chain(of_tables).chain([("all".to_owned(), self.all)]);
        all.find_map(|(of, limits)| {
            let mut pairs = NAMES.iter().zip(limits.values());
            pairs.find_map(|(name, value)| {
                let value = value.filter(|value| !(value.is_finite() && *value >= 0.0))?;
                Some(format!("{of}: {name} is {value}, and a limit is a number from 0 on"))
            })
        })
    }

    /// The limits that a run exceeded (statements, then tables, then the run), and a message for
    /// each limit whose statement or table the run did not have.
    pub fn check(&self, usage: &Usage<'_>) -> (Vec<Excess>, Vec<String>) {
        let (mut over, mut absent) = (Vec::new(), Vec::new());
        for one in &self.statement {
            let Some((count, costs)) = usage.statements(&one.matches) else {
                absent.push(format!("no statement matches '{}'", one.matches));
                continue;
            };
            over.extend(one.limits().exceeded(&one.matches, "", &costs));
            if let Some(limits) = &one.per_execution {
                over.extend(limits.exceeded(&one.matches, " per execution", &costs.per(count)));
            }
        }
        for one in &self.table {
            match usage.table(&one.name) {
                Some(costs) => over.extend(one.limits().exceeded(&one.name, "", &costs)),
                None => absent.push(format!("there is no table or index '{}'", one.name)),
            }
        }
        over.extend(self.all.exceeded("all", "", &usage.all()));
        (over, absent)
    }

    /// This budget with each limit set to what the run used. An empty budget gets a limit for each
    /// statement and table that cost anything.
    #[must_use]
    pub fn updated(&self, usage: &Usage<'_>) -> Self {
        let mut new = self.clone();
        if new == Self::default() {
            new.fill(usage);
            return new;
        }
        new.all = like(&self.all, &usage.all());
        for one in &mut new.statement {
            let Some((count, costs)) = usage.statements(&one.matches) else { continue };
            one.limits = named(&like(&one.limits(), &costs));
            one.per_execution = one.per_execution.map(|limits| like(&limits, &costs.per(count)));
        }
        for one in &mut new.table {
            let Some(costs) = usage.table(&one.name) else { continue };
            let limits = like(&one.limits(), &costs);
            *one = OfTable::of(one.name.clone(), limits);
        }
        new
    }

    fn fill(&mut self, usage: &Usage<'_>) {
        self.all = Limits { time_ms: None, ..usage.all() };
        for row in usage.run.by_statement.iter().filter(|row| row.executions > 0) {
            let Some((count, costs)) = usage.statements(&row.statement) else { continue };
            if row.with_commit.page_programs == 0 {
                continue;
            }
            let per = Limits { programs: costs.per(count).programs, ..Limits::default() };
            self.statement.push(OfStatements {
                matches: row.statement.clone(),
                limits: named(&Limits {
                    programs: costs.programs,
                    syncs: costs.syncs,
                    ..Limits::default()
                }),
                per_execution: Some(per),
            });
        }
        for row in usage.run.by_table.iter().filter(|row| !row.name.is_empty()) {
            let Some(costs) = usage.table(&row.name) else { continue };
            self.table.push(OfTable::of(row.name.clone(), Limits { time_ms: None, ..costs }));
        }
    }

    /// The budget as TOML.
    ///
    /// # Panics
    /// Never: every value of a budget can be written as TOML.
    pub fn text(&self) -> String {
        let mut text =
            "# Limits of what a run may cost: flysch run --budget FILE. --update writes \
            them anew.\n"
                .to_owned();
        let body = toml::to_string(self).expect("a budget has TOML values");
        write!(text, "{body}").expect("a string takes what is written");
        text
    }
}

/// The `costs` of those kinds that `limits` limits.
fn like(limits: &Limits, costs: &Limits) -> Limits {
    let mut pairs = limits.values().into_iter().zip(costs.values());
    Limits::of(std::array::from_fn(|_| pairs.next().and_then(|(limit, cost)| limit.and(cost))))
}

fn named(limits: &Limits) -> Rest {
    let pairs = NAMES.iter().zip(limits.values());
    pairs.filter_map(|(name, value)| value.map(|value| ((*name).to_owned(), value))).collect()
}

impl OfStatements {
    fn limits(&self) -> Limits {
        Limits::of(NAMES.map(|name| self.limits.get(name).copied()))
    }
}

impl OfTable {
    const fn of(name: String, limits: Limits) -> Self {
        let Limits { programs, erases, syncs, bytes_written, time_ms } = limits;
        Self { name, programs, erases, syncs, bytes_written, time_ms }
    }

    const fn limits(&self) -> Limits {
        let Self { programs, erases, syncs, bytes_written, time_ms, .. } = *self;
        Limits { programs, erases, syncs, bytes_written, time_ms }
    }
}

/// Whether a text matches a pattern, in which `*` stands for any characters. A text that the
/// pattern contains literally matches too, because statements such as `SELECT *` contain stars
/// themselves.
fn is_match(pattern: &str, text: &str) -> bool {
    if pattern == text {
        return true;
    }
    let Some((first, rest)) = pattern.split_once('*') else { return false };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, inner) = parts.split_last().expect("a split text has parts");
    for part in inner {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, text, wanted) in [
            ("INSERT INTO t*", "INSERT INTO t VALUES(?)", true),
            ("*t*", "INSERT INTO t", true),
            ("SELECT * FROM t", "SELECT * FROM t", true),
            ("INSERT*?)", "INSERT INTO t VALUES(?)", true),
            ("INSERT*u*", "INSERT INTO t", false),
            ("UPDATE", "UPDATE t", false),
        ] {
            assert_eq!(is_match(pattern, text), wanted, "{pattern}: {text}");
        }
    }

    /// 32.99 ms are more than 32, and a sum of parts is no more than the whole.
    #[test]
    fn times_are_compared_with_three_decimals() {
        let of = |time_ns| used(&Operations::default(), time_ns, None);
        let limits = Limits { time_ms: Some(32.0), ..Limits::default() };
        assert_eq!(limits.exceeded("all", "", &of(32_990_000))[0].used.to_string(), "32.99");
        assert_eq!(limits.exceeded("all", "", &of(32_000_400)), []);
        let mut sum = of(100_000);
        sum.add(&of(200_000));
        assert_eq!(sum.time_ms, Some(0.3));
    }

    #[test]
    fn what_a_budget_does_not_know_is_named() {
        for (text, wanted) in [
            ("[all]\nprograms = 1\nprogrammes = 2\n", "line 3: unknown field `programmes`"),
            ("[[statement]]\nmatches = \"a\"\nreads = 1\n", "unknown limit `reads`"),
            ("[[table]]\nname = \"a\"\nreads = 1\n", "unknown field `reads`"),
            ("[all]\nprograms = \"many\"\n", "line 2: programs: invalid type"),
        ] {
            let why = Budget::parse(text).unwrap_err();
            assert!(why.contains(wanted) && !why.contains('\n'), "{why}");
        }
        for (text, wanted) in [
            ("[all]\ntime_ms = nan\n", "all: time_ms is NaN, and a limit is a number from 0 on"),
            ("[all]\nerases = inf\n", "all: erases is inf"),
            ("[[table]]\nname = \"t\"\nsyncs = -1\n", "table 't': syncs is -1"),
            (
                "[[statement]]\nmatches = \"a\"\nper_execution = { programs = -0.5 }\n",
                "statement 'a': per_execution: programs is -0.5",
            ),
        ] {
            let why = Budget::parse(text).unwrap_err();
            assert!(why.starts_with(wanted), "{why}");
        }
        let text = "[all]\nprograms = 7\n[[statement]]\nmatches = \"a*\"\nerases = 2\nper_execution = { programs = 1.5 }\n";
        let budget = Budget::parse(text).unwrap();
        assert_eq!(Budget::parse(&budget.text()), Ok(budget));
    }
}
