//! The steps of each workload, one file each: what it prepares, opens, measures and checks.

mod contacts;
mod micro;
mod overwrite;
mod postmark;
mod read;
mod tpcc;

use super::error::RunError;
use super::run::Run;
use super::session::Session;
use crate::workload::Workload;

/// Run the workload of a session from start to end.
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
    }
}
