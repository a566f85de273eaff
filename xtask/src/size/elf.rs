//! Parses an object file for a 32-bit processor, as far as sizes need it.

use crate::Outcome;

/// Flags of sections that are in the memory of the running program.
const ALLOCATED: u32 = 2;
const EXECUTABLE: u32 = 4;
const SYMBOLS: u32 = 2;
const RELOCATIONS: u32 = 9;
const UNWIND: u32 = 0x7000_0001;
/// Sizes in bytes of a section's header and of a symbol.
const SECTION_SIZE: usize = 40;
const SYMBOL_SIZE: usize = 16;
const RELOCATION_SIZE: usize = 8;
/// Kinds of relocations: a call, and a jump that ends a function.
const CALLS: [u32; 2] = [10, 30];
/// The kind of an address in data.
const ADDRESS: u32 = 2;

/// A parsed object file.
pub(super) struct Object {
    bytes: Vec<u8>,
    sections: Vec<Section>,
    /// The number of the section that contains the names of sections.
    names: usize,
}

#[derive(Clone, Copy)]
struct Section {
    /// The offset of its name in the section of names.
    name: usize,
    kind: u32,
    flags: u32,
    at: usize,
    size: u32,
    link: usize,
    /// For relocations, the number of the section that they change.
    info: usize,
}

impl Object {
    /// Parse the headers of the sections.
    pub(super) fn parse(bytes: Vec<u8>) -> Outcome<Self> {
        if bytes.get(..5) != Some(b"\x7FELF\x01") {
            return Err("the compiler left no 32-bit ELF object".into());
        }
        let (first, count) = (word(&bytes, 32)? as usize, half(&bytes, 48)?);
        let section = |number: usize| {
            let at = first + number * SECTION_SIZE;
            Ok(Section {
                name: word(&bytes, at)? as usize,
                kind: word(&bytes, at + 4)?,
                flags: word(&bytes, at + 8)?,
                at: word(&bytes, at + 16)? as usize,
                size: word(&bytes, at + 20)?,
                link: word(&bytes, at + 24)? as usize,
                info: word(&bytes, at + 28)? as usize,
            })
        };
        let sections = (0..count).map(section).collect::<Outcome<_>>()?;
        let names = half(&bytes, 50)?;
        Ok(Self { bytes, sections, names })
    }

    /// The name of a section.
    pub(super) fn section_name(&self, section: usize) -> String {
        let names = self.sections.get(self.names).map_or(0, |names| names.at);
        let at = names + self.sections[section].name;
        let rest = self.bytes.get(at..).unwrap_or_default();
        let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// The stack frames that the compiler notes: the section of each function, and the bytes of
    /// stack that the function needs.
    pub(super) fn frames(&self) -> Vec<(usize, u32)> {
        let notes = (0..self.sections.len())
            .filter(|&section| self.section_name(section).starts_with(".stack_sizes"));
        let frame = |section: usize| {
            let Section { at, size, link, .. } = self.sections[section];
            let note = self.bytes.get(at + 4..at + size as usize)?;
            let size = note.iter().rev().fold(0, |sum, byte| sum << 7 | u32::from(byte & 0x7F));
            Some((link, size))
        };
        notes.filter_map(frame).collect()
    }

    /// The calls between functions, as pairs of sections: caller and called function. Calls through
    /// pointers are not included.
    pub(super) fn calls(&self) -> Outcome<Vec<(usize, usize)>> {
        self.relocations(&CALLS)
    }

    /// Sections of the functions of which a table of functions has the address.
    pub(super) fn pointed(&self) -> Outcome<Vec<usize>> {
        let is_data = |section: usize| self.section_name(section).starts_with(".rodata");
        let addresses = self.relocations(&[ADDRESS])?.into_iter();
        Ok(addresses.filter(|(from, _)| is_data(*from)).map(|(_, to)| to).collect())
    }

    /// The sections that have relocations of these kinds, and those of the symbols they refer to.
    fn relocations(&self, kinds: &[u32]) -> Outcome<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        let tables = self.sections.iter().filter(|section| section.kind == RELOCATIONS);
        for table in tables {
            let symbols = self.sections.get(table.link).ok_or("relocations without symbols")?.at;
            for at in (table.at..table.at + table.size as usize).step_by(RELOCATION_SIZE) {
                let info = word(&self.bytes, at + 4)?;
                if kinds.contains(&(info & 0xFF)) {
                    let symbol = symbols + (info >> 8) as usize * SYMBOL_SIZE;
                    found.push((table.info, half(&self.bytes, symbol + 14)?));
                }
            }
        }
        Ok(found)
    }

    /// Bytes of machine code.
    pub(super) fn code_size(&self) -> u32 {
        self.sum(ALLOCATED | EXECUTABLE)
    }

    /// Bytes of constants, without the statics that only hold the sizes of types.
    pub(super) fn data_size(&self) -> Outcome<u32> {
        Ok(self.sum(ALLOCATED) - self.unwind_size() - self.symbol_size("FIELDS_")?)
    }

    /// Bytes of unwind tables. The linker scripts of firmware leave them out, as nothing unwinds.
    pub(super) fn unwind_size(&self) -> u32 {
        self.sections.iter().filter(|section| section.kind == UNWIND).map(|it| it.size).sum()
    }

    fn sum(&self, flags: u32) -> u32 {
        const NO_BITS: u32 = 8;
        let relevant = ALLOCATED | EXECUTABLE;
        let fits =
            |section: &&Section| section.flags & relevant == flags && section.kind != NO_BITS;
        self.sections.iter().filter(fits).map(|section| section.size).sum()
    }

    /// The sum of the sizes of all symbols whose names begin with `start`.
    pub(super) fn symbol_size(&self, start: &str) -> Outcome<u32> {
        let symbols = self.symbols()?;
        let told = symbols.iter().filter(|(name, _)| name.starts_with(start.as_bytes()));
        Ok(told.map(|(_, size)| size).sum())
    }

    /// Names and sizes of all symbols.
    pub(super) fn symbols(&self) -> Outcome<Vec<(&[u8], u32)>> {
        let mut symbols = Vec::new();
        for table in self.sections.iter().filter(|section| section.kind == SYMBOLS) {
            let names = self.sections.get(table.link).ok_or("a symbol table without names")?;
            for at in (table.at..table.at + table.size as usize).step_by(SYMBOL_SIZE) {
                let start = names.at + word(&self.bytes, at)? as usize;
                let rest = self.bytes.get(start..).unwrap_or_default();
                let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
                symbols.push((name, word(&self.bytes, at + 8)?));
            }
        }
        Ok(symbols)
    }
}

fn half(bytes: &[u8], at: usize) -> Outcome<usize> {
    let pair = bytes.get(at..at + 2).ok_or("the object is cut short")?;
    Ok(usize::from(u16::from_le_bytes([pair[0], pair[1]])))
}

fn word(bytes: &[u8], at: usize) -> Outcome<u32> {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or("the object is cut short")?;
    Ok(u32::from_le_bytes(*four))
}
