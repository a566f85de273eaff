//! Counts operations of the index and of the chip from the trace. Events are added to the counts as
//! they come, because the whole trace would not fit in memory.
//!
//! A mark precedes each operation of the index. The events between two marks belong to one
//! operation.

use flysch_chip::{CauseTree, Event, EventKind, Recorder};
use flysch_nand::Geometry;

use super::records;

/// The scopes in which a translation layer moves pages.
const COPYING: [&str; 2] = ["ftl_collect", "ftl_level_wear"];

/// After this many operations of the index, the recorded events are added to the counts.
const FOLD_EVERY: u32 = 256;

/// Counts of what the chip and the index did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of operations on the index.
    pub operations: u64,
    /// Array reads of data, including those of records.
    pub reads: u64,
    /// Of `reads`, those that read a page of records.
    pub record_reads: u64,
    /// Sectors that the other reads touched in full or in part.
    pub sectors_read: u64,
    /// Array programs of data.
    pub programs: u64,
    /// Sectors that these programs wrote.
    pub sectors_programmed: u64,
    /// Number of block erases.
    pub erases: u64,
    /// Programs of a page although a higher page of its block was programmed since the last erase.
    pub out_of_order: u64,
    /// Programs by the garbage collection and wear levelling of a translation layer.
    pub copies: u64,
    /// Time of all events, nanoseconds.
    pub busy_ns: u64,
    /// Time of the longest operation, nanoseconds.
    pub worst_ns: u64,
    /// Operations of the index by their number of reads.
    pub with_reads: Spread,
    /// Operations of the index by their number of reads, without those of records.
    pub with_index_reads: Spread,
}

/// Numbers of reads from 0 to one less than this are counted separately; all higher numbers are
/// counted together.
const READS_MAX: usize = 64;

/// How many operations made how many reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Number of operations with 0, 1, 2, ... reads. The last place counts all operations with
    /// more.
    counts: [u32; READS_MAX],
    /// The most reads that one operation made.
    pub worst: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: [0; READS_MAX], worst: 0 }
    }
}

impl Spread {
    fn add(&mut self, reads: u64) {
        self.worst = self.worst.max(reads);
        let place = usize::try_from(reads).map_or(READS_MAX - 1, |at| at.min(READS_MAX - 1));
        self.counts[place] += 1;
    }

    pub fn join(&mut self, more: &Self) {
        self.worst = self.worst.max(more.worst);
        for (count, more) in self.counts.iter_mut().zip(more.counts) {
            *count += more;
        }
    }

    /// The number of reads that `per_mille` of a thousand operations do not exceed. If it is too
    /// high to be counted separately, the highest number of all is returned.
    pub fn at(&self, per_mille: u64) -> u64 {
        let operations = self.counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let wanted = operations * per_mille / 1000;
        let mut seen = 0;
        for (reads, count) in (0..).zip(&self.counts[..READS_MAX - 1]) {
            seen += u64::from(*count);
            if seen > wanted || seen == operations {
                return reads;
            }
        }
        self.worst
    }
}

/// The costs so far of the operation that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    ns: u64,
    reads: u64,
    record_reads: u64,
}

/// Counts the events of a recorder.
#[derive(Debug)]
pub struct Meter {
    recorder: Recorder,
    geometry: Geometry,
    counts: Counts,
    /// The operation that is under way, if there is one.
    under_way: Option<UnderWay>,
    /// For each block, the highest page that was programmed since its last erase.
    frontiers: Vec<Option<u32>>,
    marks: u32,
}

impl Meter {
    /// Discard what the recorder holds, and count from now on.
    pub fn new(recorder: Recorder, geometry: Geometry) -> Self {
        let frontiers = vec![None; geometry.block_count as usize];
        let counts = Counts::default();
        recorder.reset();
        Self { recorder, geometry, counts, under_way: None, frontiers, marks: 0 }
    }

    /// Mark the begin of an operation on the index.
    pub fn begin(&mut self) {
        self.recorder.mark(self.marks);
        self.marks = self.marks.wrapping_add(1);
        if self.marks.is_multiple_of(FOLD_EVERY) {
            self.fold();
        }
    }

    /// The counts since the last call.
    pub fn take(&mut self) -> Counts {
        self.fold();
        self.close();
        std::mem::take(&mut self.counts)
    }

    fn fold(&mut self) {
        let trace = self.recorder.take(self.geometry);
        let classes = classes(&trace.causes);
        for event in &trace.events {
            self.add(event, classes[event.cause.0 as usize]);
        }
    }

    fn close(&mut self) {
        let Some(UnderWay { ns, reads, record_reads }) = self.under_way.take() else { return };
        self.counts.worst_ns = self.counts.worst_ns.max(ns);
        self.counts.with_reads.add(reads);
        self.counts.with_index_reads.add(reads - record_reads);
    }

    fn add(&mut self, event: &Event, class: Class) {
        if event.kind == EventKind::Mark {
            self.counts.operations += 1;
            self.close();
            self.under_way = Some(UnderWay::default());
            return;
        }
        let sector_size = self.geometry.sector_size();
        let counts = &mut self.counts;
        let under_way = self.under_way.get_or_insert_default();
        match event.kind {
            EventKind::Read => {
                counts.reads += 1;
                under_way.reads += 1;
                if class == Class::Record {
                    counts.record_reads += 1;
                    under_way.record_reads += 1;
                } else {
                    // Bytes beyond the sectors of a page are OOB bytes and do not count.
                    let sectors = event.bytes.div_ceil(sector_size);
                    counts.sectors_read += u64::from(sectors.min(self.geometry.sectors_per_page));
                }
            }
            EventKind::Program => {
                counts.programs += 1;
                // A program writes whole sectors. The remaining bytes are OOB bytes.
                counts.sectors_programmed += u64::from(event.bytes / sector_size);
                counts.copies += u64::from(class == Class::Copy);
                let page = event.addr % self.geometry.pages_per_block;
                let frontier =
                    &mut self.frontiers[(event.addr / self.geometry.pages_per_block) as usize];
                counts.out_of_order += u64::from(frontier.is_some_and(|highest| page < highest));
                *frontier = Some(frontier.map_or(page, |highest| highest.max(page)));
            }
            EventKind::Erase => {
                counts.erases += 1;
                self.frontiers[event.addr as usize] = None;
            }
            EventKind::Mark
            | EventKind::ReadOob
            | EventKind::ProgramOob
            | EventKind::BufferHit
            | EventKind::NvRead
            | EventKind::NvWrite
            | EventKind::NvErase => {}
        }
        let ns = u64::from(event.duration_ns);
        self.counts.busy_ns += ns;
        under_way.ns += ns;
    }
}

/// How an event is counted, by its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Index,
    Record,
    Copy,
}

/// The class of each cause, by its number. A cause without a class of its own has that of its
/// parent.
fn classes(causes: &CauseTree) -> Vec<Class> {
    let mut classes = vec![Class::Index; causes.len()];
    for place in 0..causes.len() {
        let id = flysch_chip::CauseId(u32::try_from(place).expect("numbered by 32 bits"));
        let label = causes.label(id);
        classes[place] = if label == records::SCOPE {
            Class::Record
        } else if COPYING.contains(&label) {
            Class::Copy
        } else {
            classes[causes.parent(id).0 as usize]
        };
    }
    classes
}
