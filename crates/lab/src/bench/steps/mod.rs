//! The steps of each workload, a file each: what is made, opened, measured and checked.

mod chip;
mod contacts;
mod log;
mod logger;
mod micro;
mod overwrite;
mod postmark;
mod read;
mod tpcc;

use super::error::RunError;
use super::run::Run;
use super::session::Session;
use crate::machine::stack::Engine;
use crate::workload::Workload;

/// Carry out the workload of a session from first to last.
pub(super) fn carry_out(session: &Session<'_>) -> Result<Run, RunError> {
    match session.scenario.workload {
        Workload::Micro(kind) => session.carry_out(micro::MicroSteps::new(kind, session)),
        Workload::Read(read) => session.carry_out(read::ReadSteps::new(read, session)),
        Workload::Contacts(contacts) => {
            session.carry_out(contacts::ContactsSteps::new(contacts, session))
        }
        Workload::Postmark(postmark) => {
            session.carry_out(postmark::PostmarkSteps::new(postmark, session))
        }
        Workload::Tpcc(tpcc) => session.carry_out(tpcc::TpccSteps::new(tpcc)),
        Workload::Overwrite => session.carry_out(overwrite::OverwriteSteps::new(session)),
        Workload::Logger(logger) => {
            let mut ram = engine_ram(session);
            session.carry_out(logger::LoggerSteps::new(logger, session, &mut ram))
        }
    }
}

/// The RAM of the engine that stands on the bare chip; none for others.
fn engine_ram(session: &Session<'_>) -> Vec<u8> {
    let scenario = session.scenario;
    match scenario.stack.engine {
        Engine::Flysch => vec![0; scenario.build.layers.engine_ram as usize],
        Engine::Sqlite | Engine::File => Vec::new(),
    }
}
