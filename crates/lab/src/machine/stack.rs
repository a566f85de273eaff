//! Stacks: a database engine on file systems on devices, by name.

use std::fmt;
use std::str::FromStr;

use flysch::media::Partition;
use flysch_names::{UnknownName, named};
use strum::{IntoStaticStr, VariantArray};

/// The engine that handles the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Engine {
    Sqlite,
    /// No database engine: a program that uses files directly.
    File,
    /// The engine of this project, on the bare chip.
    Flysch,
    /// redb, an engine of others: a B+tree that copies on write, in one file.
    Redb,
}

named!(Engine);

impl Engine {
    /// The fewest blocks of a partition that it takes by itself.
    pub const fn blocks_min(self) -> u32 {
        match self {
            Self::Flysch => Partition::COUNT_MIN,
            Self::Sqlite | Self::Redb | Self::File => 1,
        }
    }
}

/// The file system that holds the database, with the layers below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Main {
    /// JFFS2 on raw NAND.
    Jffs2,
    /// YAFFS2 on raw NAND.
    Yaffs2,
    /// UBIFS on UBI on raw NAND.
    Ubifs,
    /// A plain file system on a page-mapping flash translation layer, as on an SD card.
    Ftl,
    /// A file system in RAM. It shows the cost of the engine without flash.
    Tmpfs,
    /// No file system: the engine uses the chip directly.
    Chip,
}

named!(Main);

/// Where rollback journals or commits are stored, if not together with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Journals {
    /// PRAMFS on a PRAM.
    Pramfs,
    /// A file system in RAM. It gives a lower bound of the cost, but loses the journals in a power
    /// cut.
    Tmpfs,
    /// The first bytes of an NVRAM, which take the commits of the engine on the bare chip.
    Nvram,
}

named!(Journals);

/// An engine and its file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    /// The program that handles the requests.
    pub engine: Engine,
    /// The file system of the main file.
    pub main: Main,
    /// Where rollback journals or commits are stored. None: together with the database.
    pub journals: Option<Journals>,
}

impl Main {
    /// The file systems that an engine can use.
    const MOUNTED: [Self; 5] = [Self::Jffs2, Self::Yaffs2, Self::Ubifs, Self::Ftl, Self::Tmpfs];
}

impl Journals {
    /// The places for SQLite's journals.
    const OF_SQLITE: [Self; 2] = [Self::Pramfs, Self::Tmpfs];
}

impl Stack {
    pub const JFFS2: Self = Self::on(Main::Jffs2);
    pub const YAFFS2: Self = Self::on(Main::Yaffs2);
    pub const UBIFS: Self = Self::on(Main::Ubifs);
    /// SQLite on a flash translation layer.
    pub const FTL: Self = Self::on(Main::Ftl);
    /// SQLite on a file system in RAM.
    pub const TMPFS: Self = Self::on(Main::Tmpfs);

    /// This project's engine on the bare chip.
    pub const FLYSCH: Self = Self { engine: Engine::Flysch, main: Main::Chip, journals: None };

    /// This project's engine on the bare chip, with commits in an NVRAM.
    pub const FLYSCH_NVRAM: Self = Self::FLYSCH.with(Journals::Nvram);

    /// The stacks of SQLite that are compared by default.
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

    /// A program that uses the files of a file system directly.
    pub const fn file(main: Main) -> Self {
        Self { engine: Engine::File, main, journals: None }
    }

    /// redb on a file system.
    pub const fn redb(main: Main) -> Self {
        Self { engine: Engine::Redb, main, journals: None }
    }

    /// The same stack with its rollback journals or commits in `journals`.
    #[must_use]
    pub const fn with(self, journals: Journals) -> Self {
        Self { journals: Some(journals), ..self }
    }

    /// The name of the stack: a path from the engine down, such as `sqlite/jffs2`.
    pub fn name(self) -> String {
        self.to_string()
    }

    /// Every stack that has a name.
    fn every() -> impl Iterator<Item = Self> {
        let of_sqlite = Main::MOUNTED.into_iter().flat_map(|main| {
            let plain = Self::on(main);
            let others = Journals::OF_SQLITE.into_iter().map(move |journals| plain.with(journals));
            std::iter::once(plain).chain(others)
        });
        of_sqlite
            .chain(Main::MOUNTED.into_iter().map(Self::file))
            .chain(Main::MOUNTED.into_iter().map(Self::redb))
            .chain([Self::FLYSCH, Self::FLYSCH_NVRAM])
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.engine.name())?;
        if self.main != Main::Chip {
            write!(f, "/{}", self.main.name())?;
        }
        self.journals.map_or(Ok(()), |journals| write!(f, "+{}", journals.name()))
    }
}

impl FromStr for Stack {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::every().find(|stack| stack.name() == name);
        found.ok_or_else(|| UnknownName::new("stack", name, Self::every().map(Self::name)))
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
