//! The calls that all engines can do.

use std::fmt;

/// Bytes of a value.
pub const VALUE_SIZE: usize = 32;

/// Why a call on an engine failed.
#[derive(Debug)]
pub struct Failed(pub String);

impl Failed {
    /// The failure that an engine's error stands for.
    pub fn of(error: impl fmt::Debug) -> Self {
        Self(format!("{error:?}"))
    }
}

/// What is done with an engine: values of [`VALUE_SIZE`] bytes are put and got by their keys.
pub trait Store {
    /// Put a value in a transaction of its own, in place of the one that the key has. It is durable
    /// when the call returns.
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed>;

    /// The value of a key.
    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed>;
}

/// What a session does with an engine that is open.
pub type Task<'t> = dyn FnMut(&mut dyn Store) -> Result<(), Failed> + 't;
