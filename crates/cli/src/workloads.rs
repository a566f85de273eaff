//! The parameters that are a workload's own: each accepts a list.

use clap::Args;
use flysch_lab::workload::{Pattern, Read, Workload};

use crate::failure::Failure;
use crate::parameters::{Numbers, optional};

/// What may be set about some workloads. Every option takes a list; every combination is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of some workloads")]
pub(crate) struct Options {
    /// read: order of the requests, sequential or random [default: sequential]
    #[arg(long, value_name = "ORDER", value_delimiter = ',')]
    pattern: Vec<Pattern>,
    /// read: bytes of each request [default: 4096]
    #[arg(long, value_name = "BYTES")]
    request_size: Option<Numbers>,
    /// read: bytes of the file [default: 5242880]
    #[arg(long, value_name = "BYTES")]
    file_size: Option<Numbers>,
}

impl Options {
    /// The workloads with every combination of what is set about them.
    pub(crate) fn apply(&self, workloads: &[Workload]) -> Result<Vec<Workload>, Failure> {
        self.check_use(workloads)?;
        let mut all = Vec::new();
        for &workload in workloads {
            match workload {
                Workload::Micro(_) => all.push(workload),
                Workload::Read(read) => all.extend(self.reads(read)?.map(Workload::Read)),
            }
        }
        Ok(all)
    }

    /// An option that says nothing to any of the workloads is a mistake.
    fn check_use(&self, workloads: &[Workload]) -> Result<(), Failure> {
        let is_read = |workload: &Workload| matches!(workload, Workload::Read(_));
        let given = [
            ("pattern", !self.pattern.is_empty()),
            ("request-size", self.request_size.is_some()),
            ("file-size", self.file_size.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given && !workloads.iter().any(is_read)) {
            Some((name, _)) => Err(Failure::Message(format!("--{name} is for the workload read"))),
            None => Ok(()),
        }
    }

    fn reads(&self, plain: Read) -> Result<impl Iterator<Item = Read>, Failure> {
        let sizes = optional("request-size", self.request_size.as_ref())?;
        let file_sizes = optional("file-size", self.file_size.as_ref())?;
        let mut all = vec![plain];
        all = spread(&all, &self.pattern, |it, &pattern| it.pattern = pattern);
        all = spread(&all, &file_sizes, |it, &size| it.file_size = size);
        all = spread(&all, &sizes, |it, &size| it.request_size = size);
        match all.iter().find(|read| u64::from(read.request_size) > u64::from(read.file_size)) {
            Some(read) => Err(Failure::Message(format!(
                "--request-size {}: more than the file of {} bytes",
                read.request_size, read.file_size
            ))),
            None => Ok(all.into_iter()),
        }
    }
}

/// Each once for each value; as it is where there are no values.
fn spread<W: Copy, T>(all: &[W], values: &[T], set: impl Fn(&mut W, &T)) -> Vec<W> {
    if values.is_empty() {
        return all.to_vec();
    }
    let one = |mut workload: W, value: &T| {
        set(&mut workload, value);
        workload
    };
    all.iter()
        .flat_map(|&it| values.iter().map(move |value| (it, value)))
        .map(|(it, value)| one(it, value))
        .collect()
}
