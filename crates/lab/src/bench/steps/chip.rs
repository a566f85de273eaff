//! What every database of the engine on the bare chip takes.

use flysch::db::Options;
use flysch::media::Partition;

use crate::bench::RunError;
use crate::bench::session::Session;
use crate::machine::bare::BareChip;

/// Bytes of a row beside its data: head, lengths, and numbers of ten bytes at most.
const ROW_EXTRA: usize = 256;

/// The chip of a session.
pub(super) fn of(session: &Session<'_>) -> Result<BareChip, RunError> {
    let overhead_ns = session.scenario.build.platform.overhead_ns;
    let machine = session.machine()?;
    let (device, cpu) = (machine.device.clone(), machine.cpu.clone());
    Ok(BareChip::new(device, machine.recorder.clone(), cpu, overhead_ns))
}

/// How a database of the scenario for so many rows is made and found.
pub(super) fn options(session: &Session<'_>, capacity: u32) -> Options {
    let scenario = session.scenario;
    let partition = Partition { first: 0, count: scenario.build.partition_blocks };
    Options { partition: Some(partition), seed: scenario.seed, capacity }
}

/// Memory for a row with so many bytes of data.
pub(super) fn row_memory(data_size: u32) -> Vec<u8> {
    vec![0; data_size as usize + ROW_EXTRA]
}
