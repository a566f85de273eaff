//! What every workload of the engine on the bare chip needs: memory and a database.

use flysch::cache::Cache;
use flysch::db::{Db, DbError, Options};
use flysch::media::Partition;
use flysch::row::Schema;
use flysch_nand::NvRam;

use crate::bench::scenario::Scenario;
use crate::bench::session::Session;
use crate::bench::{RunError, engine_error};
use crate::machine::bare::{BareChip, CommitMemory};
use crate::machine::stack::{Engine, Journals};

/// Bytes of a row in addition to its data: header, lengths, and numbers of at most ten bytes each.
const ROW_EXTRA: usize = 256;

/// Whether to create a database or to open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Create,
    Open,
}

/// The memory that the engine works in: its RAM, and, if the stack has one, the NVRAM that takes
/// its commits.
#[derive(Debug)]
pub(super) struct EngineMemory {
    ram: Vec<u8>,
    nvram: Option<CommitMemory>,
    /// Memory for cells that the engine has read. Empty without a read cache.
    cache: Vec<u8>,
}

/// The chip as the engine sees it: behind a read cache, which may be empty.
pub(super) type EngineChip<'r> = Cache<'r, BareChip>;

impl EngineMemory {
    /// The memory that a scenario gives the engine. The RAM is empty if the stack has another
    /// engine.
    pub(super) fn of(session: &Session<'_>) -> Self {
        let scenario = session.scenario;
        let ram = match scenario.stack.engine {
            Engine::Flysch => vec![0; scenario.build.layers.engine_ram as usize],
            Engine::Sqlite | Engine::Redb | Engine::File => Vec::new(),
        };
        let cache = vec![0; scenario.build.layers.read_cache as usize];
        Self { ram, nvram: None, cache }
    }

    /// Create or open a database for at most `capacity` rows.
    pub(super) fn database<'r, 's>(
        &'r mut self,
        session: &Session<'_>,
        schema: &'s Schema<'s>,
        capacity: u32,
        start: Start,
    ) -> Result<Db<'r, 's, EngineChip<'r>>, RunError> {
        let Scenario { stack, build, .. } = session.scenario;
        if stack.journals == Some(Journals::Nvram) {
            let memory = session.machine()?.pram.clone();
            self.nvram = Some(CommitMemory::new(memory, build.layers.nvram_size));
        }
        let nvram = self.nvram.as_mut().map(|nvram| nvram as &mut dyn NvRam);
        let chip = Cache::new(chip_of(session)?, &mut self.cache);
        let options = options(session, capacity);
        let (made, doing) = match start {
            Start::Create => {
                (Db::create_with_nvram(chip, nvram, schema, options, &mut self.ram), "making")
            }
            Start::Open => {
                (Db::open_with_nvram(chip, nvram, schema, options, &mut self.ram), "opening")
            }
        };
        made.map_err(|error| match error {
            DbError::Full if start == Start::Create => RunError::Worn {
                bad: session.site.blocks().bad_count,
                blocks: build.partition_blocks,
            },
            error => engine_error(&format!("{doing} the database"))(error),
        })
    }
}

/// The chip of a session.
fn chip_of(session: &Session<'_>) -> Result<BareChip, RunError> {
    let overhead_ns = session.scenario.build.platform.overhead_ns;
    let machine = session.machine()?;
    let (device, cpu) = (machine.device.clone(), machine.cpu.clone());
    Ok(BareChip::new(device, machine.recorder.clone(), cpu, overhead_ns))
}

/// The options of a database of the scenario for at most `capacity` rows.
fn options(session: &Session<'_>, capacity: u32) -> Options {
    let scenario = session.scenario;
    let partition = Partition { first: 0, count: scenario.build.partition_blocks };
    Options { partition: Some(partition), seed: scenario.seed, capacity }
}

/// Memory for a row with `data_size` bytes of data.
pub(super) fn row_memory(data_size: u32) -> Vec<u8> {
    vec![0; data_size as usize + ROW_EXTRA]
}
