//! Stacks: a database engine on file systems on devices, by name.

use std::fmt;
use std::str::FromStr;

use crate::choice::UnknownChoice;

/// What carries requests out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// SQLite.
    Sqlite,
    /// None: plain calls on files.
    File,
    /// The engine of this project, on the bare chip.
    Flysch,
}

/// A file system with what it stands on, below the database's main file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Main {
    /// JFFS2 on raw NAND.
    Jffs2,
    /// YAFFS2 on raw NAND.
    Yaffs2,
    /// UBIFS on UBI on raw NAND.
    Ubifs,
    /// A plain file system on a page-mapping flash translation layer, as on an SD card.
    Ftl,
    /// A file system in RAM: what the engine costs with no flash at all.
    Tmpfs,
    /// None: the engine calls the chip itself.
    Chip,
}

/// Where rollback journals lie, if not beside the main file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Journals {
    /// On PRAMFS, in a PRAM beside the NAND.
    Pramfs,
    /// In RAM: a floor, not safe from power cuts.
    Tmpfs,
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// What carries requests out.
    pub engine: Engine,
    /// What the main file is on.
    pub main: Main,
    /// Where rollback journals lie apart from it.
    pub journals: Option<Journals>,
}

impl Engine {
    /// Name in stacks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::File => "file",
            Self::Flysch => "flysch",
        }
    }
}

impl Main {
    /// Every file system that an engine can stand on.
    const ALL: [Self; 5] = [Self::Jffs2, Self::Yaffs2, Self::Ubifs, Self::Ftl, Self::Tmpfs];

    /// Name in stacks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jffs2 => "jffs2",
            Self::Yaffs2 => "yaffs2",
            Self::Ubifs => "ubifs",
            Self::Ftl => "ftl",
            Self::Tmpfs => "tmpfs",
            Self::Chip => "chip",
        }
    }
}

impl Journals {
    const ALL: [Self; 2] = [Self::Pramfs, Self::Tmpfs];

    /// Name in stacks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pramfs => "pramfs",
            Self::Tmpfs => "tmpfs",
        }
    }
}

impl Stack {
    /// SQLite on JFFS2.
    pub const JFFS2: Self = Self::on(Main::Jffs2);
    /// SQLite on YAFFS2.
    pub const YAFFS2: Self = Self::on(Main::Yaffs2);
    /// SQLite on UBIFS.
    pub const UBIFS: Self = Self::on(Main::Ubifs);
    /// SQLite on a flash translation layer.
    pub const FTL: Self = Self::on(Main::Ftl);
    /// SQLite in RAM.
    pub const TMPFS: Self = Self::on(Main::Tmpfs);

    /// The engine on the bare chip.
    pub const FLYSCH: Self = Self { engine: Engine::Flysch, main: Main::Chip, journals: None };

    /// The stacks of SQLite that are compared unless others are asked for.
    pub const ALL: [Self; 8] = [
        Self::JFFS2,
        Self::JFFS2.with(Journals::Pramfs),
        Self::YAFFS2,
        Self::YAFFS2.with(Journals::Pramfs),
        Self::UBIFS,
        Self::UBIFS.with(Journals::Pramfs),
        Self::FTL,
        Self::TMPFS,
    ];

    const fn on(main: Main) -> Self {
        Self { engine: Engine::Sqlite, main, journals: None }
    }

    /// Plain files on a file system.
    pub const fn file(main: Main) -> Self {
        Self { engine: Engine::File, main, journals: None }
    }

    /// The same with its rollback journals elsewhere.
    #[must_use]
    pub const fn with(self, journals: Journals) -> Self {
        Self { journals: Some(journals), ..self }
    }

    /// Name: a path from the engine down.
    pub fn name(self) -> String {
        self.to_string()
    }

    /// Every stack that has a name.
    fn every() -> impl Iterator<Item = Self> {
        let of_sqlite = Main::ALL.into_iter().flat_map(|main| {
            let plain = Self::on(main);
            let others = Journals::ALL.into_iter().map(move |journals| plain.with(journals));
            std::iter::once(plain).chain(others)
        });
        of_sqlite.chain(Main::ALL.into_iter().map(Self::file)).chain([Self::FLYSCH])
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.main == Main::Chip {
            return f.write_str(self.engine.name());
        }
        write!(f, "{}/{}", self.engine.name(), self.main.name())?;
        self.journals.map_or(Ok(()), |journals| write!(f, "+{}", journals.name()))
    }
}

impl FromStr for Stack {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "flysch+nvram" {
            let why = "the engine does not take NvRam yet; 'flysch' runs without";
            return Err(UnknownChoice::because("stack", name, why));
        }
        let found = Self::every().find(|stack| stack.name() == name);
        let known: Vec<String> = Self::every().map(Self::name).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        found.ok_or_else(|| UnknownChoice::new("stack", name, &known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_from_the_engine_down() {
        let stack: Stack = "sqlite/yaffs2+pramfs".parse().unwrap();
        assert_eq!(stack, Stack::YAFFS2.with(Journals::Pramfs));
        for stack in Stack::every() {
            assert_eq!(stack.name().parse(), Ok(stack));
        }
    }
}
