//! The steps of the contacts workload: fill a table of contacts, then select rows by key.

use std::fmt::Write;

use flysch_chip::Prng;
use flysch_sqlite::Database;

use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::bench::{RunError, sqlite_error};
use crate::workload::{Contacts, Places, RandomStrings, TEXT_COUNT};

/// Integer columns of a record, in addition to its key.
const INTEGER_COUNT: u32 = 11;

/// The table. Its columns have the names of those in Android's contacts database.
const SCHEMA: &str = "\
CREATE TABLE contacts (_id INTEGER PRIMARY KEY, name_raw_contact_id INTEGER, photo_id INTEGER, \
send_to_voicemail INTEGER, times_contacted INTEGER, last_time_contacted INTEGER, starred INTEGER, \
in_visible_group INTEGER, has_phone_number INTEGER, status_update_id INTEGER, single_is_restricted \
INTEGER, link_type INTEGER, display_name TEXT, phonetic_name TEXT, custom_ringtone TEXT, sort_key TEXT, \
lookup TEXT);";

/// The state of this workload during a run.
pub(super) struct ContactsSteps {
    contacts: Contacts,
    strings: RandomStrings,
    seed: u64,
}

impl ContactsSteps {
    pub(super) fn new(contacts: Contacts, session: &Session<'_>) -> Self {
        let seed = session.scenario.seed ^ 0x5EED;
        let strings = RandomStrings::new(session.scenario.alphabet, contacts.text_size, seed);
        Self { contacts, strings, seed }
    }

    /// The SQL that inserts record `id`.
    fn insert(&mut self, id: u32, integers: &mut Prng) -> Vec<u8> {
        let mut head = format!("INSERT INTO contacts VALUES ({id}");
        for _ in 0..INTEGER_COUNT {
            write!(head, ",{}", integers.below(1 << 31)).expect("a string takes what is written");
        }
        let mut sql = head.into_bytes();
        for _ in 0..TEXT_COUNT {
            sql.extend(b",'");
            self.strings.append(&mut sql);
            sql.push(b'\'');
        }
        sql.extend(b");");
        sql
    }
}

impl Steps for ContactsSteps {
    type Opened = Database;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let database = session.open_database()?;
        let during = |id: u32| sqlite_error(format!("filling the table, record {id}"));
        session.execute(&database, SCHEMA).map_err(during(0))?;
        session.execute(&database, "BEGIN;").map_err(during(0))?;
        let mut integers = Prng::new(self.seed);
        for id in 1..=self.contacts.records {
            let sql = self.insert(id, &mut integers);
            session.execute(&database, sql).map_err(during(id))?;
        }
        session.execute(&database, "COMMIT;").map_err(during(self.contacts.records))?;
        database.close().map_err(sqlite_error("closing the database".to_owned()))
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        session.open_database()
    }

    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let Contacts { pattern, records, .. } = self.contacts;
        let requests = session.scenario.requests;
        let places = Places::new(pattern, records.into(), self.seed);
        let mut interval = Interval::begin(session);
        for (place, number) in places.zip(1..=requests) {
            let sql = format!("SELECT * FROM contacts WHERE _id = {};", place + 1);
            interval.request("select", || {
                let done = session.execute(database, sql);
                done.map_err(|error| sqlite_error(format!("request {number} of {requests}"))(error))
            })?;
        }
        let bytes = u64::from(requests) * u64::from(self.contacts.text_bytes());
        Ok(Measured::new(interval.end(), bytes))
    }
}
