//! Rows that change, and the ordered maps that say what they ought to be.

use std::collections::BTreeMap;

use flysch::db::{Db, DbError, Direction, Durability, Transaction};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::Prng;
use flysch_nand::Nand;

/// Accounts with every kind of index, and items whose keys are text and whose rows may be long.
pub(super) const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "account",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("owner", ColumnType::Integer),
                Column::required("number", ColumnType::Integer),
                Column::required("label", ColumnType::Text),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
                Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
                Index { columns: &[2], kind: IndexKind::Hash, is_unique: true },
            ],
            zone: Some(0),
            keep: None,
        },
        Table {
            name: "item",
            columns: &[
                Column::required("name", ColumnType::Text),
                Column::required("rank", ColumnType::Integer),
                Column::required("data", ColumnType::Blob),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
                Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false },
            ],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

/// Owners and ranks.
pub(super) const GROUPS: i64 = 6;

/// An account without its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    owner: i64,
    number: i64,
    label: String,
}

/// An item without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    rank: i64,
    data: Vec<u8>,
}

/// What the database ought to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) accounts: BTreeMap<i64, Account>,
    pub(super) items: BTreeMap<String, Item>,
}

/// What histories draw from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Keys of each table.
    pub(super) keys: u64,
    pub(super) label_max: u64,
    pub(super) data_max: u64,
}

pub(super) const fn bounds(keys: u64, label_max: u64, data_max: u64) -> Bounds {
    Bounds { keys, label_max, data_max }
}

impl Account {
    fn draw(prng: &mut Prng, bounds: Bounds) -> Self {
        Self {
            owner: prng.below(GROUPS as u64).cast_signed(),
            number: prng.below(bounds.keys * 2).cast_signed(),
            label: "y".repeat(prng.below(bounds.label_max) as usize),
        }
    }

    fn values(&self, id: i64) -> [Value<'_>; 4] {
        let (owner, number) = (Value::Integer(self.owner), Value::Integer(self.number));
        [Value::Integer(id), owner, number, Value::Text(&self.label)]
    }

    fn read(row: &RowView<'_, '_>) -> Result<(i64, Self), DbError> {
        let columns = [row.column(0)?, row.column(1)?, row.column(2)?, row.column(3)?];
        let [Value::Integer(id), Value::Integer(owner), Value::Integer(number), Value::Text(label)] =
            columns
        else {
            panic!("the columns have their types");
        };
        Ok((id, Self { owner, number, label: label.to_owned() }))
    }
}

impl Item {
    fn draw(prng: &mut Prng, bounds: Bounds) -> Self {
        // Long ones are rare, so that a device holds some.
        let max = if prng.below(4) == 0 { bounds.data_max } else { bounds.data_max.min(60) };
        let (len, seed) = (prng.below(max), prng.next());
        let data = (0..len).map(|at| (at.wrapping_mul(seed) >> 7) as u8).collect();
        Self { rank: prng.below(GROUPS as u64).cast_signed(), data }
    }

    fn values<'v>(&'v self, name: &'v str) -> [Value<'v>; 3] {
        [Value::Text(name), Value::Integer(self.rank), Value::Blob(&self.data)]
    }

    fn read(row: &RowView<'_, '_>) -> Result<(String, Self), DbError> {
        let [Value::Text(name), Value::Integer(rank), Value::Blob(data)] =
            [row.column(0)?, row.column(1)?, row.column(2)?]
        else {
            panic!("the columns have their types");
        };
        Ok((name.to_owned(), Self { rank, data: data.to_owned() }))
    }
}

type Change<'d, 'ram, N> = Transaction<'d, 'ram, 'static, N>;

impl Ledger {
    /// Draw a change, make it here and in the transaction, and compare the answers. What the
    /// device refuses is not made here.
    pub(super) fn change<N: Nand>(
        &mut self,
        tx: &mut Change<'_, '_, N>,
        prng: &mut Prng,
        bounds: Bounds,
    ) -> Result<(), DbError> {
        let draw = prng.below(20);
        let key = prng.below(bounds.keys).cast_signed();
        match draw {
            0..5 => self.put_account(tx, key, Account::draw(prng, bounds), false),
            5..9 => self.put_account(tx, key, Account::draw(prng, bounds), true),
            9 => {
                let was_there = self.accounts.contains_key(&key);
                assert_eq!(tx.delete(0, &[Value::Integer(key)])?, was_there, "delete of {key}");
                self.accounts.remove(&key);
                Ok(())
            }
            10 => self.rename_account(tx, key, prng.below(bounds.keys).cast_signed()),
            11..17 => {
                let (name, item) = (format!("item {key}"), Item::draw(prng, bounds));
                let was_there = tx.upsert(1, &item.values(&name))?;
                assert_eq!(was_there, self.items.insert(name, item).is_some(), "upsert of {key}");
                Ok(())
            }
            17..19 => {
                let name = format!("item {key}");
                let was_there = tx.delete(1, &[Value::Text(&name)])?;
                assert_eq!(was_there, self.items.remove(&name).is_some(), "delete of {name}");
                Ok(())
            }
            _ => self.ask_inside(tx, key),
        }
    }

    /// Insert an account, or update it.
    fn put_account<N: Nand>(
        &mut self,
        tx: &mut Change<'_, '_, N>,
        id: i64,
        account: Account,
        updates: bool,
    ) -> Result<(), DbError> {
        let is_there = self.accounts.contains_key(&id);
        let others = self.accounts.iter().filter(|(other, _)| **other != id);
        let is_taken = others.map(|(_, other)| other.number).any(|other| other == account.number);
        let values = account.values(id);
        let done =
            if updates { tx.update(0, &values) } else { tx.insert(0, &values).map(|()| true) };
        let wanted = match (updates, is_there, is_taken) {
            (true, false, _) => Ok(false),
            (false, true, _) => Err(DbError::Duplicate { index: 0 }),
            (_, _, true) => Err(DbError::Duplicate { index: 2 }),
            (true, true, false) | (false, false, false) => Ok(true),
        };
        if !matches!(done, Err(DbError::Duplicate { .. }) | Ok(_)) {
            return done.map(|_| ());
        }
        assert_eq!(done, wanted, "account {id}, updates {updates}: {account:?}");
        if done == Ok(true) {
            self.accounts.insert(id, account);
        }
        Ok(())
    }

    /// Give an account another id.
    fn rename_account<N: Nand>(
        &mut self,
        tx: &mut Change<'_, '_, N>,
        from: i64,
        to: i64,
    ) -> Result<(), DbError> {
        let Some(account) = self.accounts.get(&from).cloned() else { return Ok(()) };
        if self.accounts.contains_key(&to) {
            return Ok(());
        }
        assert!(tx.delete(0, &[Value::Integer(from)])?, "account {from} is there");
        self.accounts.remove(&from);
        tx.insert(0, &account.values(to))?;
        self.accounts.insert(to, account);
        Ok(())
    }

    /// A transaction reads what it wrote.
    fn ask_inside<N: Nand>(&self, tx: &mut Change<'_, '_, N>, key: i64) -> Result<(), DbError> {
        let mut out = vec![0; 1 << 14];
        let found = tx.get(0, 0, &[Value::Integer(key)], &mut out)?;
        let found = found.map(|row| Account::read(&row)).transpose()?;
        assert_eq!(found.map(|(_, account)| account).as_ref(), self.accounts.get(&key), "id {key}");
        let name = format!("item {key}");
        let found = tx.get(1, 0, &[Value::Text(&name)], &mut out)?;
        let found = found.map(|row| Item::read(&row)).transpose()?;
        assert_eq!(found.map(|(_, item)| item).as_ref(), self.items.get(&name), "{name}");
        Ok(())
    }

    /// Some changes in one transaction, which is committed or taken back. What it leaves where it
    /// is committed is given.
    pub(super) fn transact<N: Nand>(
        &self,
        db: &mut Db<'_, 'static, N>,
        prng: &mut Prng,
        (count, bounds): (u64, Bounds),
        doubtful: &mut Self,
    ) -> Result<(), DbError> {
        let mut tx = db.begin()?;
        let mut after = self.clone();
        for _ in 0..count {
            after.change(&mut tx, prng, bounds)?;
        }
        match prng.below(6) {
            0 => tx.roll_back(),
            1 => Ok(()),
            _ => {
                doubtful.clone_from(&after);
                tx.commit(Durability::Durable)
            }
        }
    }

    /// What a scan of both tables gives; each row must come once.
    pub(super) fn scanned<N: Nand>(
        db: &mut Db<'_, 'static, N>,
        direction: Direction,
    ) -> Result<Self, DbError> {
        let cursors = (db.scan(0, direction)?, db.scan(1, direction)?);
        Self::pulled(db, cursors)
    }

    /// What cursors over all accounts and all items give; each row must come once.
    fn pulled<N: Nand>(
        db: &mut Db<'_, 'static, N>,
        (mut accounts, mut items): (impl Cursor, impl Cursor),
    ) -> Result<Self, DbError> {
        let (mut found, mut out) = (Self::default(), vec![0; 1 << 14]);
        while let Some(row) = accounts.next(db, &mut out)? {
            let (id, account) = Account::read(&row)?;
            assert!(found.accounts.insert(id, account).is_none(), "account {id} came twice");
        }
        while let Some(row) = items.next(db, &mut out)? {
            let (name, item) = Item::read(&row)?;
            let before = found.items.insert(name.clone(), item);
            assert!(before.is_none(), "{name} came twice");
        }
        Ok(found)
    }

    /// How many rows there are beyond those of another ledger, all of which have to be there.
    pub(super) fn beyond(&self, other: &Self, story: &str) -> usize {
        for (id, account) in &other.accounts {
            assert_eq!(self.accounts.get(id), Some(account), "account {id}: {story}");
        }
        for (name, item) in &other.items {
            assert_eq!(self.items.get(name), Some(item), "{name}: {story}");
        }
        let count = |ledger: &Self| ledger.accounts.len() + ledger.items.len();
        count(self) - count(other)
    }

    /// Ask every index for every key that there may be.
    pub(super) fn ask<N: Nand>(
        &self,
        db: &mut Db<'_, 'static, N>,
        bounds: Bounds,
        story: &str,
    ) -> Result<(), DbError> {
        let cursors = (db.all(0)?, db.all(1)?);
        assert_eq!(Self::pulled(db, cursors)?, *self, "all rows: {story}");
        let mut out = vec![0; 1 << 14];
        for key in 0..bounds.keys.cast_signed() {
            let found = db.get(0, 0, &[Value::Integer(key)], &mut out)?;
            let found = found.map(|row| Account::read(&row)).transpose()?;
            let wanted = self.accounts.get(&key);
            assert_eq!(found.map(|(_, account)| account).as_ref(), wanted, "id {key}: {story}");
            let name = format!("item {key}");
            let found = db.get(1, 0, &[Value::Text(&name)], &mut out)?;
            let found = found.map(|row| Item::read(&row)).transpose()?;
            let wanted = self.items.get(&name);
            assert_eq!(found.map(|(_, item)| item).as_ref(), wanted, "{name}: {story}");
        }
        for number in 0..bounds.keys.cast_signed() * 2 {
            let found = db.get(0, 2, &[Value::Integer(number)], &mut out)?;
            let found = found.map(|row| Account::read(&row)).transpose()?.map(|(id, _)| id);
            let mut accounts = self.accounts.iter();
            let wanted = accounts.find(|(_, account)| account.number == number).map(|(id, _)| *id);
            assert_eq!(found, wanted, "number {number}: {story}");
        }
        self.ask_groups(db, story)
    }

    pub(super) fn ask_groups<N: Nand>(
        &self,
        db: &mut Db<'_, 'static, N>,
        story: &str,
    ) -> Result<(), DbError> {
        let mut out = vec![0; 1 << 14];
        for group in 0..GROUPS {
            let mut found = Vec::new();
            let mut find = db.find(0, 1, &[Value::Integer(group)])?;
            while let Some(row) = find.next(db, &mut out)? {
                found.push(Account::read(&row)?.0);
            }
            found.sort_unstable();
            let accounts = self.accounts.iter().filter(|(_, account)| account.owner == group);
            let wanted: Vec<i64> = accounts.map(|(id, _)| *id).collect();
            assert_eq!(found, wanted, "owner {group}: {story}");
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let (least, greatest) = (Value::Integer(1), Value::Integer(GROUPS - 2));
            let mut range = db.range(1, 1, (&least, &greatest), direction)?;
            let mut found = Vec::new();
            while let Some(row) = range.next(db, &mut out)? {
                let (name, item) = Item::read(&row)?;
                found.push((item.rank, name));
            }
            let forward = direction == Direction::Forward;
            let is_sorted = |pair: &[(i64, String)]| {
                if forward { pair[0].0 <= pair[1].0 } else { pair[0].0 >= pair[1].0 }
            };
            assert!(found.windows(2).all(is_sorted), "ranks are in order: {story}");
            found.sort_unstable();
            let items = self.items.iter().filter(|(_, item)| (1..GROUPS - 1).contains(&item.rank));
            let mut wanted: Vec<_> = items.map(|(name, item)| (item.rank, name.clone())).collect();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "ranks, {direction:?}: {story}");
            let mut range = db.range(0, 0, (&least, &Value::Integer(1 << 40)), direction)?;
            let mut found = Vec::new();
            while let Some(row) = range.next(db, &mut out)? {
                found.push(Account::read(&row)?.0);
            }
            let mut wanted: Vec<i64> = self.accounts.range(1..).map(|(id, _)| *id).collect();
            if !forward {
                wanted.reverse();
            }
            assert_eq!(found, wanted, "ids, {direction:?}: {story}");
        }
        Ok(())
    }
}
