//! Sessions in one call, for firmware whose stack is small.
//!
//! A database has some five kilobytes of fields. Where it is returned to the caller, the stack has
//! them twice or more, for as long as it is made. In a session they are made where they stay.

use flysch_nand::{Nand, NvRam};

use super::{Db, DbError, Options};
use crate::row::Schema;

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Make an empty database, as [`Db::create_with_nvram`] does, and close it. Cost: as
    /// [`Db::create`] and [`Db::close`].
    #[inline(never)]
    pub fn format(
        nand: N,
        nvram: Option<&'ram mut dyn NvRam>,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
    ) -> Result<(), DbError> {
        let parts = Self::prepare(&nand, schema, options, ram)?;
        let mut db = Self::blank(nand, nvram, (schema, options), parts);
        db.write_first(options)?;
        db.end()
    }

    /// Open the database that is on the chip, as [`Db::open_with_nvram`] does, do `work`, and close
    /// it. Of the stack it takes the fields of the database once. Cost: as [`Db::open`] and
    /// [`Db::close`].
    ///
    /// ```
    /// # use flysch::db::{Db, DbError, Durability, Options};
    /// # use flysch::row::{Schema, Value};
    /// # use flysch_nand::Nand;
    /// fn log<N: Nand>(
    ///     (nand, ram): (N, &mut [u8]),
    ///     (schema, options): (&Schema<'_>, Options),
    ///     mut measure: impl FnMut() -> Option<i64>,
    /// ) -> Result<(), DbError> {
    ///     Db::session(nand, None, schema, options, ram, |db| {
    ///         while let Some(value) = measure() {
    ///             let mut tx = db.begin()?;
    ///             tx.insert(0, &[Value::Integer(value)])?;
    ///             tx.commit(Durability::Durable)?;
    ///         }
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of [`Db::open_with_nvram`], of `work` and of [`Db::close`]. Where `work` fails, the
    /// session ends as at a power cut: what was committed is there.
    #[inline(never)]
    pub fn session<T>(
        nand: N,
        nvram: Option<&'ram mut dyn NvRam>,
        schema: &'s Schema<'s>,
        options: Options,
        ram: &'ram mut [u8],
        work: impl FnOnce(&mut Self) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let parts = Self::prepare(&nand, schema, options, ram)?;
        let mut db = Self::blank(nand, nvram, (schema, options), parts);
        db.find_all(options)?;
        let done = work(&mut db)?;
        db.end()?;
        Ok(done)
    }
}
