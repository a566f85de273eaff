//! The steps of `PostMark`: make a set of files, run transactions, then delete the files that are
//! left.

use std::collections::BTreeMap;

use flysch_chip::Prng;
use flysch_linux::vfs::Advice;

use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::workload::{Postmark, printable};

/// One file of the set.
struct Entry {
    name: String,
    size: u32,
}

/// Counts of what was done, for the figures.
#[derive(Default)]
struct Tally {
    read_count: u32,
    append_count: u32,
    create_count: u32,
    delete_count: u32,
    bytes_read: u64,
    bytes_written: u64,
    /// Time spent reading files, nanoseconds.
    read_ns: u64,
}

/// The state of `PostMark` during a run.
pub(super) struct PostmarkSteps {
    postmark: Postmark,
    draw: Prng,
    files: Vec<Entry>,
    /// The number that names the next new file.
    next_name: u32,
    /// The text of each file, from its beginning: random printable characters, the 95 of ASCII
    /// from the space on, as `PostMark` has them. They compress to 82 %. It is drawn once, as
    /// `PostMark` does, so that drawing it is no part of what is measured.
    text: Vec<u8>,
    /// A buffer to read into.
    buffer: Vec<u8>,
    tally: Tally,
}

impl PostmarkSteps {
    pub(super) fn new(postmark: Postmark, session: &Session<'_>) -> Self {
        let seed = session.scenario.seed ^ 0x5EED;
        let text = printable(postmark.size_max, seed);
        let draw = Prng::new(seed).after(postmark.size_max.into());
        let buffer = vec![0; postmark.block_size as usize];
        let tally = Tally::default();
        Self { postmark, draw, files: Vec::new(), next_name: 0, text, buffer, tally }
    }

    fn between(&mut self, least: u32, most: u32) -> u32 {
        let drawn = self.draw.below(u64::from(most - least) + 1);
        least + u32::try_from(drawn).expect("below a difference of 32 bits")
    }

    fn any_file(&mut self) -> usize {
        let drawn = self.draw.below(self.files.len() as u64);
        usize::try_from(drawn).expect("an index of a vector")
    }

    fn is_first_of_two(&mut self) -> bool {
        self.draw.below(2) == 0
    }

    /// Write `len` bytes at `offset` in calls of one block each.
    fn write(
        &mut self,
        session: &Session<'_>,
        name: &str,
        offset: u32,
        len: u32,
    ) -> Result<(), RunError> {
        let mut linux = session.linux();
        let fd = linux.open(name, true)?;
        for (at, part) in self.calls(len) {
            let from = offset + at;
            let text = &self.text[from as usize..(from + part) as usize];
            linux.write(fd, from.into(), text)?;
        }
        self.tally.bytes_written += u64::from(len);
        Ok(linux.close(fd)?)
    }

    /// Offset and length of each call when `len` bytes are moved in blocks.
    fn calls(&self, len: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let block_size = self.postmark.block_size;
        let starts = (0..len).step_by(block_size as usize);
        starts.map(move |at| (at, block_size.min(len - at)))
    }

    fn create(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let size = self.between(self.postmark.size_min, self.postmark.size_max);
        let name = format!("{}", self.next_name);
        self.next_name += 1;
        self.write(session, &name, 0, size)?;
        self.files.push(Entry { name, size });
        Ok(())
    }

    fn delete(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let place = self.any_file();
        let entry = self.files.swap_remove(place);
        Ok(session.linux().unlink(&entry.name)?)
    }

    fn append(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let place = self.any_file();
        let Entry { name, size } = &self.files[place];
        let (name, size) = (name.clone(), *size);
        if size < self.postmark.size_max {
            let len = self.between(1, self.postmark.size_max - size);
            self.write(session, &name, size, len)?;
            self.files[place].size += len;
        }
        Ok(())
    }

    fn read(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let place = self.any_file();
        let Entry { name, size } = &self.files[place];
        let len = u64::from(*size) * u64::from(self.postmark.percent) / 100;
        let len = u32::try_from(len).expect("a share of a size").max(1);
        let mut linux = session.linux();
        let fd = linux.open(name, false)?;
        linux.advise(fd, Advice::DontNeed { offset: 0, len: 0 })?;
        let began_ns = session.now_ns();
        for (at, part) in self.calls(len) {
            linux.read(fd, at.into(), &mut self.buffer[..part as usize])?;
        }
        self.tally.read_ns += session.now_ns() - began_ns;
        self.tally.bytes_read += u64::from(len);
        Ok(linux.close(fd)?)
    }

    fn transaction(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        if !self.files.is_empty() {
            if self.is_first_of_two() {
                self.read(session)?;
                self.tally.read_count += 1;
            } else {
                self.append(session)?;
                self.tally.append_count += 1;
            }
        }
        if self.files.is_empty() || self.is_first_of_two() {
            self.create(session)?;
            self.tally.create_count += 1;
        } else {
            self.delete(session)?;
            self.tally.delete_count += 1;
        }
        Ok(())
    }
}

impl Tally {
    #[expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]
    fn figures(&self) -> BTreeMap<&'static str, f64> {
        let values = [
            f64::from(self.read_count),
            f64::from(self.append_count),
            f64::from(self.create_count),
            f64::from(self.delete_count),
            self.bytes_read as f64,
            self.bytes_written as f64,
            self.read_ns as f64 / 1e6,
            // In units of 2^20 bytes a second. 0 if no file was read, as `bytes_read` is then 0.
            self.bytes_read as f64 / 1_048_576.0 / (self.read_ns.max(1) as f64 / 1e9),
        ];
        Postmark::FIGURES.into_iter().zip(values).collect()
    }
}

impl Steps for PostmarkSteps {
    /// Nothing stays open, because each transaction opens its files.
    type Opened = ();

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        (0..self.postmark.files).try_for_each(|_| self.create(session))
    }

    fn open(&mut self, _session: &Session<'_>) -> Result<(), RunError> {
        self.tally = Tally::default();
        Ok(())
    }

    fn measure(&mut self, session: &Session<'_>, (): &mut ()) -> Result<Measured, RunError> {
        let mut interval = Interval::begin(session);
        for _ in 0..session.scenario.requests {
            interval.request("transaction", || self.transaction(session))?;
        }
        let bytes = self.tally.bytes_read + self.tally.bytes_written;
        let mut measured = Measured::new(interval.end(), bytes);
        measured.figures = self.tally.figures();
        Ok(measured)
    }

    /// Delete all files. Fails if one of them cannot be deleted.
    fn check(&mut self, session: &Session<'_>, (): &mut ()) -> Result<(), RunError> {
        while !self.files.is_empty() {
            self.delete(session)?;
        }
        Ok(())
    }
}
