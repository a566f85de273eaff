//! Stacks: a database engine on file systems on devices, by name.

use std::fmt;
use std::str::FromStr;

use flysch_names::{UnknownName, named};
use strum::{IntoStaticStr, VariantArray};

/// The program that handles the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Engine {
    Sqlite,
    /// No engine: a program that calls files directly.
    File,
    /// The engine of this project, on the bare chip.
    Flysch,
}

named!(Engine);

/// The file system of the database's main file, with the layers below it.
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
    /// A file system in RAM. It shows what the engine costs without flash.
    Tmpfs,
    /// None: the engine calls the chip itself.
    Chip,
}

named!(Main);

/// Where rollback journals or commits lie, if not in the file system or the chip of the main file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Journals {
    /// PRAMFS in a PRAM.
    Pramfs,
    /// RAM. It is a lower bound of the cost, and is not safe from power cuts.
    Tmpfs,
    /// The first bytes of a PRAM: commits of the engine on the bare chip.
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
    /// The place of the rollback journals or commits, if they have one of their own.
    pub journals: Option<Journals>,
}

impl Main {
    /// Every file system that an engine can stand on.
    const MOUNTED: [Self; 5] = [Self::Jffs2, Self::Yaffs2, Self::Ubifs, Self::Ftl, Self::Tmpfs];
}

impl Journals {
    /// File systems that journals of SQLite can lie in.
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

    /// The engine on the bare chip.
    pub const FLYSCH: Self = Self { engine: Engine::Flysch, main: Main::Chip, journals: None };

    /// The engine on the bare chip, with commits in byte-addressable memory beside it.
    pub const FLYSCH_NVRAM: Self = Self::FLYSCH.with(Journals::Nvram);

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

    /// A program that uses the files of a file system directly.
    pub const fn file(main: Main) -> Self {
        Self { engine: Engine::File, main, journals: None }
    }

    /// The same stack with its rollback journals or commits in another place.
    #[must_use]
    pub const fn with(self, journals: Journals) -> Self {
        Self { journals: Some(journals), ..self }
    }

    /// The name of the stack: a path from the engine down.
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
