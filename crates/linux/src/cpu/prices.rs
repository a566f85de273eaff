//! Prices: how many instructions each unit of counted work takes.
//!
//! A table of prices belongs to one version of the kernel and of SQLite. It is measured, as
//! `platforms/prices/` says beside each price, and does not depend on the processor.

use std::collections::BTreeMap;

use strum::{EnumCount, IntoStaticStr, VariantArray};

/// A unit of work that is counted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Unit {
    /// One system call: entry, exit, and the lookup of the descriptor.
    Syscall,
    /// One path that is resolved.
    Path,
    /// One file that is opened and closed, beyond the path.
    Open,
    /// One read call, beyond the system call.
    Read,
    /// One write call, beyond the system call.
    Write,
    /// One fsync, beyond the system call.
    Fsync,
    /// One system call on a file's locks.
    Lock,
    /// One system call that looks a file's attributes up by its path, for SQLite's VFS alone.
    Stat,
    /// One name that is made or removed, with the inode behind it.
    Name,
    /// One page of the cache that is looked up, locked and marked.
    Page,
    /// One page of the cache that is allocated and filled.
    PageFill,
    /// One request handed to the MTD layer.
    MtdRequest,
    /// One request handed to UBI.
    UbiRequest,
    /// One request handed to the block layer and to the host of an MMC card, with its interrupt.
    BlockRequest,
    /// One byte run through CRC-32.
    ChecksumByte,
    /// One node or tag that JFFS2, YAFFS2 or PRAMFS parses, links or walks past.
    Node,
    /// One node that JFFS2 writes.
    NodeWrite,
    /// One node that UBIFS reads.
    UbifsRead,
    /// One node that UBIFS puts into a write buffer.
    UbifsWrite,
    /// One node of UBIFS's index that a search visits.
    UbifsLevel,
    /// One change of the properties of a LEB.
    UbifsLprops,
    /// One stretch of data that zlib compresses.
    Deflate,
    /// One byte that zlib takes.
    DeflateIn,
    /// One byte that zlib gives.
    DeflateOut,
    /// One byte that zlib gives in vain, because what it takes gets no shorter: it makes no codes.
    DeflateVain,
    /// One value of a byte that occurs in what is deflated, for which a code is made.
    DeflateSymbol,
    /// One stretch of data that UBIFS has deflated.
    CryptoDeflate,
    /// One byte that this takes.
    CryptoDeflateIn,
    /// One byte that this gives.
    CryptoDeflateOut,
    /// One stretch of data that LZO compresses.
    Lzo,
    /// One byte that LZO takes.
    LzoIn,
    /// One byte that LZO gives.
    LzoOut,
    /// One match that LZO finds.
    LzoMatch,
    /// One place at which LZO looks for a match.
    LzoPosition,
    /// One byte that rtime takes.
    RtimeIn,
    /// One stretch of data that zstd compresses.
    Zstd,
    /// One byte that zstd takes.
    ZstdIn,
    /// One place at which zstd looks for a match.
    ZstdPosition,
    /// One table of codes that zstd makes: of literals, or of one part of its sequences.
    ZstdTable,
    /// One value of a byte for which a table of literals is made.
    ZstdSymbol,
    /// One literal that zstd codes by such a table.
    ZstdLiteral,
    /// One sequence of zstd: literals to copy and a match.
    ZstdSequence,
    /// One stretch of data that zlib decompresses.
    Inflate,
    /// One table of codes that is read for it.
    InflateTable,
    /// One byte that inflating takes.
    InflateIn,
    /// One byte that inflating gives.
    InflateOut,
    /// One byte that decompressing LZO or rtime gives.
    UnlzoOut,
    /// One match that it copies for LZO.
    UnlzoMatch,
    /// One run of literals that it copies for LZO.
    UnlzoLiterals,
    /// One byte that it copies alone, of a match that repeats the bytes right before it.
    UnlzoSingle,
    /// One byte that it copies alone, of the literals at the end.
    UnlzoTail,
    /// One stretch of data that zstd decompresses.
    Unzstd,
    /// One table of codes that is read for it.
    UnzstdTable,
    /// One coded literal that it decodes.
    UnzstdLiteral,
    /// One sequence that it carries out.
    UnzstdSequence,
    /// One byte that decompressing zstd gives.
    UnzstdOut,
    /// One statement that SQLite compiles and runs.
    SqlStatement,
    /// One word, number, string or sign of SQL.
    SqlToken,
    /// One byte of SQL outside string literals.
    SqlByte,
    /// One byte of SQL inside a string literal.
    SqlLiteral,
    /// One column of the result of a statement that is compiled.
    SqlColumn,
    /// One row that SQLite returns.
    SqlRow,
    /// One step of SQLite's virtual machine.
    SqlStep,
    /// One page that SQLite asks its cache for and finds there.
    SqlPage,
    /// One value that is given to a parameter of a statement that was compiled before.
    SqlBound,
    /// One value of a row that the program takes from SQLite.
    SqlValue,
    /// One read of a file by SQLite, with the page that it fills.
    SqlRead,
    /// One write of a file by SQLite, beyond the system call.
    SqlWrite,
    /// One byte of its write-ahead log, over which it computes a checksum.
    SqlWalByte,
    /// One statement's text that a program builds.
    Text,
    /// One random character of such a text.
    TextByte,
    /// One random byte of the data that a program draws to write it.
    DrawnByte,
}

impl Unit {
    pub const COUNT: usize = <Self as EnumCount>::COUNT;

    /// The unit's name in tables.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }

    /// Whether the program does this work, and not the kernel.
    pub const fn is_of_program(self) -> bool {
        self as usize >= Self::SqlStatement as usize
    }
}

/// The price of each unit, thousandths of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices([u64; Unit::COUNT]);

/// How many units of each kind were charged.
pub type Counts = [u64; Unit::COUNT];

impl Default for Prices {
    /// Each unit takes one instruction.
    fn default() -> Self {
        Self([1000; Unit::COUNT])
    }
}

impl Prices {
    /// The prices in a table of units by name, in instructions.
    ///
    /// # Errors
    /// Names the unit that is unknown or has an impossible price, or the units that are missing.
    pub fn new(table: &BTreeMap<String, f64>) -> Result<Self, String> {
        let is_known = |name: &&String| Unit::VARIANTS.iter().any(|unit| unit.name() == *name);
        if let Some(name) = table.keys().find(|name| !is_known(name)) {
            return Err(format!("no unit of work: {name}"));
        }
        let mut prices = [0; Unit::COUNT];
        let mut missing = Vec::new();
        for unit in Unit::VARIANTS {
            match table.get(unit.name()) {
                Some(&price) if (0.0..=INSTRUCTIONS_MAX).contains(&price) => {
                    prices[*unit as usize] = thousandths(price);
                }
                Some(price) => return Err(format!("{}: {price} instructions", unit.name())),
                None => missing.push(unit.name()),
            }
        }
        if missing.is_empty() {
            Ok(Self(prices))
        } else {
            Err(format!("missing: {}", missing.join(", ")))
        }
    }

    /// Thousandths of an instruction that a unit takes.
    pub const fn of(&self, unit: Unit) -> u64 {
        self.0[unit as usize]
    }
}

/// The most instructions that a unit may take.
const INSTRUCTIONS_MAX: f64 = 1e9;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small")]
fn thousandths(instructions: f64) -> u64 {
    (instructions * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(price: f64) -> BTreeMap<String, f64> {
        Unit::VARIANTS.iter().map(|unit| (unit.name().to_owned(), price)).collect()
    }

    #[test]
    fn a_table_has_each_unit_and_no_other() {
        let mut all = table(1.5);
        assert_eq!(Prices::new(&all).map(|prices| prices.of(Unit::Lock)), Ok(1500));
        all.remove("lock");
        assert_eq!(Prices::new(&all), Err("missing: lock".to_owned()));
        all.insert("locks".to_owned(), 1.0);
        assert_eq!(Prices::new(&all), Err("no unit of work: locks".to_owned()));
    }

    #[test]
    fn a_price_is_a_number_of_instructions() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e10] {
            let mut all = table(1.0);
            all.insert("lock".to_owned(), wrong);
            let error = Prices::new(&all).expect_err("an impossible price");
            assert!(error.starts_with("lock: "), "{error}");
        }
    }
}
