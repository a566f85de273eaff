//! A sensor log on raw NAND: readings are logged, found by time and by sensor, and survive a cut.

#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::error::Error;
use std::sync::Arc;

use flysch::db::{Db, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("at", ColumnType::Time),
            Column::required("sensor", ColumnType::Integer),
            Column::required("value", ColumnType::Real),
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

fn main() -> Result<(), Box<dyn Error>> {
    let chip = Chip::new(Arc::new(Part::named("w25n01gv")?), Clock::new(), 1);
    let (mut chip, mut ram, mut row) = (FaultInjector::new(chip), [0; 16_384], [0; 64]);

    let mut db = Db::create(&mut chip, &SCHEMA, OPTIONS, &mut ram)?;
    db.nand_mut().arm(FaultPlan { cut_at: Some(1000), ..FaultPlan::default() });
    let mut logged = 0;
    let cut = loop {
        let (at, sensor) = (Value::Time(logged * 1_000_000), Value::Integer(logged % 16));
        let mut tx = db.begin()?;
        let inserted = tx.insert(0, &[at, sensor, Value::Real(20.5.into())]);
        match inserted.and_then(|()| tx.commit(Durability::Durable)) {
            Ok(()) => logged += 1,
            Err(cut) => break cut,
        }
    };
    println!("{logged} readings were logged; then: {cut}");

    chip.power_up();
    let mut db = Db::open(&mut chip, &SCHEMA, OPTIONS, &mut ram)?;
    let (from, to) = (Value::Time(600_000_000), Value::Time(603_000_000));
    let mut by_time = db.range(0, 0, (&from, &to), Direction::Forward)?;
    while let Some(reading) = by_time.next(&mut db, &mut row)? {
        println!("{:?} {:?}", reading.column(0)?, reading.column(1)?);
    }
    let (mut of_sensor, mut count) = (db.find(0, 1, &[Value::Integer(7)])?, 0);
    while of_sensor.next(&mut db, &mut row)?.is_some() {
        count += 1;
    }
    println!("{count} readings of sensor 7");
    db.close()?;
    Ok(())
}
