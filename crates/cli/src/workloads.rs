//! The options of some workloads. Each option accepts a list.

use clap::Args;
use flysch_lab::bench::grid::spread;
use flysch_lab::workload::{Contacts, Logger, Mount, Pattern, Postmark, Read, Stop, Workload};

use crate::failure::Failure;
use crate::numbers::{Numbers, at_most, once, optional};
use crate::tpcc::TpccOptions;

/// The settings of some workloads. Every option takes a list; every combination is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of some workloads")]
pub(crate) struct Options {
    /// read, contacts: order of the requests, sequential or random [default: sequential]
    #[arg(long, value_name = "ORDER", value_delimiter = ',')]
    pattern: Vec<Pattern>,
    /// read, postmark: bytes of each call [default: 4096; postmark: 512]
    #[arg(long, value_name = "BYTES")]
    request_size: Option<Numbers>,
    /// read: bytes of the file [default: 5242880]
    #[arg(long, value_name = "BYTES")]
    file_size: Option<Numbers>,
    /// read: time between requests, microseconds [default: 0]
    #[arg(long, value_name = "US")]
    inter_arrival: Option<Numbers>,
    /// contacts: bytes of each of the five texts in a record [default: 64]
    #[arg(long, value_name = "BYTES")]
    text_size: Option<Numbers>,
    /// contacts: records in the table [default: 1000]
    #[arg(long, value_name = "N")]
    records: Option<Numbers>,
    /// postmark: percent of a file that each read covers [default: 100]
    #[arg(long, value_name = "N")]
    percent: Option<Numbers>,
    /// postmark: number of files created at the start [default: 500]
    #[arg(long, value_name = "N")]
    files: Option<Numbers>,
    /// postmark: bytes of the smallest file [default: 500]
    #[arg(long, value_name = "BYTES")]
    size_min: Option<Numbers>,
    /// postmark: bytes of the largest file [default: 10000]
    #[arg(long, value_name = "BYTES")]
    size_max: Option<Numbers>,
    /// logger: readings in each transaction [default: 1]
    #[arg(long, value_name = "N")]
    batch: Option<Numbers>,
    /// logger: keep this many of the newest readings, in a ring table of the engine; in SQLite each
    /// transaction deletes as many old ones as it inserts. Before the interval at least twice as
    /// many are inserted, and four blocks of them, so that old readings go in it as new ones come
    /// [default: all]
    #[arg(long, value_name = "N")]
    keep: Option<Numbers>,
    /// logger: number of queries by time after the transactions, and of queries by sensor [default:
    /// 100]
    #[arg(long, value_name = "N")]
    queries: Option<Numbers>,
    /// mount: how the machine stops before the mount: cut (power is cut in a transaction) or clean
    /// [default: cut]
    #[arg(long, value_name = "HOW", value_delimiter = ',')]
    stop: Vec<Stop>,
    #[command(flatten)]
    tpcc: TpccOptions,
}

impl Options {
    /// The workloads with every combination of the options' values.
    pub(crate) fn apply(&self, workloads: &[Workload]) -> Result<Vec<Workload>, Failure> {
        self.check_use(workloads)?;
        once("--pattern", &self.pattern)?;
        once("--stop", &self.stop)?;
        let mut all = Vec::new();
        for &workload in workloads {
            match workload {
                Workload::Micro(_) | Workload::Overwrite | Workload::Program => all.push(workload),
                Workload::Read(plain) => {
                    all.extend(self.reads(plain)?.into_iter().map(Workload::Read));
                }
                Workload::Contacts(plain) => {
                    all.extend(self.contacts(plain)?.into_iter().map(Workload::Contacts));
                }
                Workload::Logger(plain) => {
                    all.extend(self.loggers(plain)?.into_iter().map(Workload::Logger));
                }
                Workload::Mount(plain) => {
                    let stops =
                        spread(vec![plain], &self.stop, |it: &mut Mount, &stop| it.stop = stop);
                    all.extend(stops.into_iter().map(Workload::Mount));
                }
                Workload::Tpcc(plain) => {
                    all.extend(self.tpcc.spread(plain)?.into_iter().map(Workload::Tpcc));
                }
                Workload::Postmark(plain) => {
                    all.extend(self.postmarks(plain)?.into_iter().map(Workload::Postmark));
                }
            }
        }
        Ok(all)
    }

    /// Refuse an option that applies to none of the workloads.
    fn check_use(&self, workloads: &[Workload]) -> Result<(), Failure> {
        let mut given: Vec<(&str, bool, &[&str])> = vec![
            ("pattern", !self.pattern.is_empty(), &["read", "contacts"]),
            ("request-size", self.request_size.is_some(), &["read", "postmark"]),
            ("file-size", self.file_size.is_some(), &["read"]),
            ("inter-arrival", self.inter_arrival.is_some(), &["read"]),
            ("text-size", self.text_size.is_some(), &["contacts"]),
            ("records", self.records.is_some(), &["contacts"]),
            ("percent", self.percent.is_some(), &["postmark"]),
            ("files", self.files.is_some(), &["postmark"]),
            ("size-min", self.size_min.is_some(), &["postmark"]),
            ("size-max", self.size_max.is_some(), &["postmark"]),
            ("batch", self.batch.is_some(), &["logger"]),
            ("keep", self.keep.is_some(), &["logger"]),
            ("queries", self.queries.is_some(), &["logger"]),
            ("stop", !self.stop.is_empty(), &["mount"]),
        ];
        let of_tpcc = self.tpcc.given().into_iter();
        given.extend(of_tpcc.map(|(name, is_given)| (name, is_given, ["tpcc"].as_slice())));
        let is_idle = |whose: &[&str]| !workloads.iter().any(|it| whose.contains(&it.name()));
        match given.iter().find(|(_, is_given, whose)| *is_given && is_idle(whose)) {
            Some((name, _, whose)) => {
                Err(Failure::Message(format!("--{name} is for {}", whose.join(" and "))))
            }
            None => Ok(()),
        }
    }

    fn reads(&self, plain: Read) -> Result<Vec<Read>, Failure> {
        let sizes = optional("request-size", self.request_size.as_ref())?;
        let file_sizes = optional("file-size", self.file_size.as_ref())?;
        let pauses = from_zero("inter-arrival", self.inter_arrival.as_ref(), INTER_ARRIVAL_US_MAX)?;
        let mut all = vec![plain];
        all = spread(all, &self.pattern, |it, &pattern| it.pattern = pattern);
        all = spread(all, &file_sizes, |it, &size| it.file_size = size);
        all = spread(all, &sizes, |it, &size| it.request_size = size);
        all = spread(all, &pauses, |it, &us| it.inter_arrival_us = us);
        all.iter().try_for_each(|read| {
            let Read { request_size, file_size, .. } = read;
            at_most("request-size", *request_size, "the file", *file_size)
        })?;
        Ok(all)
    }

    fn contacts(&self, plain: Contacts) -> Result<Vec<Contacts>, Failure> {
        let sizes = optional("text-size", self.text_size.as_ref())?;
        let records = optional("records", self.records.as_ref())?;
        if let Some(size) = sizes.iter().find(|&&size| size > TEXT_SIZE_MAX) {
            return Err(Failure::Message(format!(
                "--text-size {size}: {TEXT_SIZE_MAX} are the most"
            )));
        }
        let mut all = vec![plain];
        all = spread(all, &self.pattern, |it, &pattern| it.pattern = pattern);
        all = spread(all, &sizes, |it, &size| it.text_size = size);
        Ok(spread(all, &records, |it, &records| it.records = records))
    }

    fn loggers(&self, plain: Logger) -> Result<Vec<Logger>, Failure> {
        let batches = optional("batch", self.batch.as_ref())?;
        let queries = from_zero("queries", self.queries.as_ref(), QUERIES_MAX)?;
        batches.iter().try_for_each(|&it| at_most("batch", it, "a transaction", BATCH_MAX))?;
        let all = spread(vec![plain], &batches, |it, &batch| it.batch = batch);
        let keeps = optional("keep", self.keep.as_ref())?;
        let all = spread(all, &keeps, |it, &keep| it.keep = keep);
        all.iter()
            .filter(|it| it.keep > 0)
            .try_for_each(|it| at_most("batch", it.batch, "the readings that are kept", it.keep))?;
        Ok(spread(all, &queries, |it, &queries| it.queries = queries))
    }

    fn postmarks(&self, plain: Postmark) -> Result<Vec<Postmark>, Failure> {
        let list = |name: &str, given: &Option<Numbers>| optional(name, given.as_ref());
        let percents = list("percent", &self.percent)?;
        percents.iter().try_for_each(|&percent| at_most("percent", percent, "a file", 100))?;
        let mut all = vec![plain];
        all = spread(all, &list("files", &self.files)?, |it, &files| it.files = files);
        all = spread(all, &list("size-min", &self.size_min)?, |it, &size| it.size_min = size);
        all = spread(all, &list("size-max", &self.size_max)?, |it, &size| it.size_max = size);
        let sizes = list("request-size", &self.request_size)?;
        all = spread(all, &sizes, |it, &size| it.block_size = size);
        all = spread(all, &percents, |it, &percent| it.percent = percent);
        all.iter().try_for_each(|it| {
            at_most("size-min", it.size_min, "the largest file", it.size_max)?;
            at_most("request-size", it.block_size, "a buffer", REQUEST_SIZE_MAX)
        })?;
        Ok(all)
    }
}

/// The numbers of an option, which may be zero and at most `most`.
fn from_zero(name: &str, numbers: Option<&Numbers>, most: u32) -> Result<Vec<u32>, Failure> {
    let given: &[u64] = numbers.map_or(&[], |numbers| &numbers.0);
    once(&format!("--{name}"), given)?;
    let number = |&given: &u64| match u32::try_from(given) {
        Ok(number) if number <= most => Ok(number),
        _ => Err(Failure::Message(format!("--{name} {given}: {most} are the most"))),
    };
    given.iter().map(number).collect()
}

/// The longest time between requests, microseconds: an hour.
const INTER_ARRIVAL_US_MAX: u32 = 3_600_000_000;
/// The most queries of a kind.
const QUERIES_MAX: u32 = 1_000_000;
/// The largest text of a contact, bytes. It keeps statements far below SQLite's limit.
const TEXT_SIZE_MAX: u32 = 1 << 16;
/// The most readings in a transaction. They are all in memory at the same time.
const BATCH_MAX: u32 = 1 << 16;
/// The largest read or write call, bytes.
const REQUEST_SIZE_MAX: u32 = 64 << 20;
