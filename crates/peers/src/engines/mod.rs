//! The engines by name, one file each: how its crate is put on the chip.

#[cfg(feature = "ekv")]
mod ekv;
mod flysch;
#[cfg(feature = "littlefs2")]
mod littlefs2;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "sequential-storage")]
mod sequential_storage;
#[cfg(feature = "tickv")]
mod tickv;

use flysch_chip::Clock;
use strum::{IntoStaticStr, VariantArray};

use crate::flash::Device;
use crate::store::{Failed, Task};

/// Bytes that NOR flash erases at once.
#[cfg(any(feature = "ekv", feature = "sequential-storage", feature = "tickv"))]
const ERASE_SIZE: usize = 4096;
/// Regions of that size that a key-value store uses: 1 MB.
#[cfg(any(feature = "ekv", feature = "sequential-storage", feature = "tickv"))]
const REGIONS: usize = 256;

/// The result of a future that never waits.
/// An engine, and how it lies on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Engine {
    /// This project's engine, in 16 KiB of RAM, on the bare chip.
    Flysch,
    /// littlefs: a file for each key, on the bare chip.
    Littlefs2,
    /// redb, as one file on the translation layer.
    Redb,
    /// ekv, on NOR flash on the translation layer.
    Ekv,
    /// The map of sequential-storage, on NOR flash on the translation layer.
    SequentialStorage,
    /// `TicKV`, on NOR flash on the translation layer.
    Tickv,
}

impl Engine {
    /// The name, as its crate has it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the program was built with it.
    pub const fn is_there(self) -> bool {
        match self {
            Self::Flysch => true,
            Self::Littlefs2 => cfg!(feature = "littlefs2"),
            Self::Redb => cfg!(feature = "redb"),
            Self::Ekv => cfg!(feature = "ekv"),
            Self::SequentialStorage => cfg!(feature = "sequential-storage"),
            Self::Tickv => cfg!(feature = "tickv"),
        }
    }

    /// Open the engine on a device, which is formatted first where it is new, and carry a task out.
    pub fn session(
        self,
        (device, clock): (&Device, &Clock),
        is_new: bool,
        task: &mut Task<'_>,
    ) -> Result<(), Failed> {
        match self {
            Self::Flysch => flysch::session(device, is_new, task),
            #[cfg(feature = "littlefs2")]
            Self::Littlefs2 => littlefs2::session(device, is_new, task),
            #[cfg(feature = "redb")]
            Self::Redb => redb::session((device, clock), task),
            #[cfg(feature = "ekv")]
            Self::Ekv => ekv::session((device, clock), is_new, task),
            #[cfg(feature = "sequential-storage")]
            Self::SequentialStorage => sequential_storage::session((device, clock), task),
            #[cfg(feature = "tickv")]
            Self::Tickv => tickv::session((device, clock), is_new, task),
            #[cfg(not(all(
                feature = "littlefs2",
                feature = "redb",
                feature = "ekv",
                feature = "sequential-storage",
                feature = "tickv"
            )))]
            _ => Err(Failed(format!("this build has no {}", self.name()))),
        }
    }
}

#[cfg(any(feature = "ekv", feature = "sequential-storage"))]
fn now<T>(future: impl Future<Output = T>) -> T {
    use std::task::{Context, Poll, Waker};

    let mut context = Context::from_waker(Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("simulated flash answers at once"),
    }
}
