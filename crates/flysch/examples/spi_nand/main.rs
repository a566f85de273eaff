//! The engine over a driver of a SPI NAND, as on a board. The chip itself is a model.

#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

mod driver;
mod model;

use std::error::Error;

use flysch::db::{Db, DbError, DbRam, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_nand::Nand;

use driver::{GEOMETRY, W25n01gv};
use model::Model;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("at", ColumnType::Time),
            Column::required("sensor", ColumnType::Integer),
            Column::required("value", ColumnType::Integer),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
        ],
        zone: Some(0),
        keep: None,
    }],
};
const OPTIONS: Options = Options { partition: None, seed: 0x5EED, capacity: 100_000 };
/// On a board this is a `static`. Less than the database needs would not compile.
const RAM: DbRam<16_384> = DbRam::new(&SCHEMA, &GEOMETRY, &OPTIONS);

fn main() -> Result<(), Box<dyn Error>> {
    let mut ram = RAM;
    let mut chip = W25n01gv::new(Model::new()?)?.ok_or("another chip is on the bus")?;
    Db::format(&mut chip, None, &SCHEMA, OPTIONS, ram.bytes())?;
    let logged = Db::session(&mut chip, None, &SCHEMA, OPTIONS, ram.bytes(), log)?;
    println!("{logged} readings were logged");
    let found = Db::session(&mut chip, None, &SCHEMA, OPTIONS, ram.bytes(), find)?;
    println!("{found} readings of sensor 7");
    Ok(())
}

fn log<N: Nand>(db: &mut Db<'_, '_, N>) -> Result<i64, DbError> {
    let logged = 1000;
    for reading in 0..logged {
        let at = Value::Time(reading * 1_000_000);
        let mut tx = db.begin()?;
        tx.insert(0, &[at, Value::Integer(reading % 16), Value::Integer(reading * reading)])?;
        tx.commit(Durability::Durable)?;
    }
    Ok(logged)
}

fn find<N: Nand>(db: &mut Db<'_, '_, N>) -> Result<u32, DbError> {
    let (mut row, mut count) = ([0; 64], 0);
    let mut of_sensor = db.find(0, 1, &[Value::Integer(7)])?;
    while of_sensor.next(db, &mut row)?.is_some() {
        count += 1;
    }
    Ok(count)
}
