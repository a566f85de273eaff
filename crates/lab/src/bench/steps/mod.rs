//! The steps of each workload, one file each: what it prepares, opens, measures and checks.

mod chip;
mod contacts;
mod log;
mod logger;
mod micro;
mod mount;
mod overwrite;
mod postmark;
mod read;
#[cfg(feature = "redb")]
mod redb;
mod table;
mod tpcc;

use super::error::RunError;
use super::run::Run;
use super::session::Session;
use crate::machine::stack::Engine;
use crate::workload::Workload;

/// Run the workload of a session from start to end.
pub(super) fn carry_out(session: &Session<'_>) -> Result<Run, RunError> {
    let mut ram = chip::EngineMemory::of(session);
    let on_chip = session.scenario.stack.engine == Engine::Flysch;
    let on_redb = session.scenario.stack.engine == Engine::Redb;
    if on_redb && !cfg!(feature = "redb") {
        return Err(RunError::no_redb());
    }
    match session.scenario.workload {
        Workload::Micro(kind) if on_chip => {
            session.carry_out(table::TableSteps::of_records(kind, session, &mut ram))
        }
        #[cfg(feature = "redb")]
        Workload::Micro(kind) if on_redb => {
            session.carry_out(redb::RedbSteps::of_records(kind, session))
        }
        Workload::Micro(kind) => session.carry_out(micro::MicroSteps::new(kind, session)),
        Workload::Read(read) => session.carry_out(read::ReadSteps::new(read, session)),
        Workload::Contacts(contacts) if on_chip => {
            session.carry_out(table::TableSteps::of_contacts(contacts, session, &mut ram))
        }
        #[cfg(feature = "redb")]
        Workload::Contacts(contacts) if on_redb => {
            session.carry_out(redb::RedbSteps::of_contacts(contacts, session))
        }
        Workload::Contacts(contacts) => {
            session.carry_out(contacts::ContactsSteps::new(contacts, session))
        }
        Workload::Postmark(postmark) => {
            session.carry_out(postmark::PostmarkSteps::new(postmark, session))
        }
        Workload::Tpcc(tpcc) if on_chip => {
            session.carry_out(tpcc::EngineSteps::new(tpcc, &mut ram))
        }
        Workload::Tpcc(tpcc) => session.carry_out(tpcc::TpccSteps::new(tpcc)),
        Workload::Overwrite => session.carry_out(overwrite::OverwriteSteps::new(session)),
        Workload::Logger(logger) => {
            let table = [log::table(logger.keep)];
            let plan = log::Plan::new(&table, logger::capacity(logger, session.scenario));
            session.carry_out(logger::LoggerSteps::new(logger, session, &plan, &mut ram))
        }
        Workload::Mount(mount) => {
            let (table, scenario) = ([log::table(0)], session.scenario);
            let plan = log::Plan::new(&table, mount::MountSteps::capacity(scenario));
            session.carry_out(mount::MountSteps::new(mount, scenario, &plan, &mut ram))
        }
        Workload::Program => {
            Err(RunError::Broken("a program of the user's is run by `flysch run`".to_owned()))
        }
    }
}
