//! This project's engine: a table of keys and values, in 16 KiB of RAM.

use flysch::db::{Db, Durability, Options};
use flysch::media::Partition;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};

use crate::flash::{BLOCKS, Device};
use crate::store::{Failed, Store, Task, VALUE_SIZE};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "pair",
        columns: &[
            Column::required("key", ColumnType::Integer),
            Column::required("value", ColumnType::Blob),
        ],
        indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok(), "the engine takes the schema");

const RAM: usize = 16 << 10;
const OPTIONS: Options = Options {
    partition: Some(Partition { first: 0, count: BLOCKS }),
    seed: 0x5EED,
    capacity: 10_000,
};

type Database<'d> = Db<'d, 'static, Device>;

pub(crate) fn session(device: &Device, is_new: bool, task: &mut Task<'_>) -> Result<(), Failed> {
    let mut ram = vec![0; RAM - size_of::<Database<'_>>()];
    let make = if is_new { Db::create } else { Db::open };
    let mut db = make(device.clone(), &SCHEMA, OPTIONS, &mut ram).map_err(Failed::of)?;
    task(&mut Pairs { db: &mut db })
}

struct Pairs<'p, 'd> {
    db: &'p mut Database<'d>,
}

impl Store for Pairs<'_, '_> {
    fn put(&mut self, key: u32, value: &[u8; VALUE_SIZE]) -> Result<(), Failed> {
        let mut transaction = self.db.begin().map_err(Failed::of)?;
        let values = [Value::Integer(key.into()), Value::Blob(value)];
        transaction.upsert(0, &values).map_err(Failed::of)?;
        transaction.commit(Durability::Durable).map_err(Failed::of)
    }

    fn get(&mut self, key: u32) -> Result<Option<[u8; VALUE_SIZE]>, Failed> {
        let mut row = [0; 128];
        let found = self.db.get(0, 0, &[Value::Integer(key.into())], &mut row);
        let Some(found) = found.map_err(Failed::of)? else { return Ok(None) };
        match found.column(1) {
            Ok(Value::Blob(value)) => value.try_into().map(Some).map_err(Failed::of),
            other => Err(Failed::of(other)),
        }
    }
}
