//! Programs of the user on a simulated machine.
//!
//! A program runs unchanged. Its SQLite asks this process for files (`flysch_sqlite::remote`), and
//! the machine of a [`Scenario`](crate::bench::scenario::Scenario) answers. The measured interval
//! begins with the first request and ends with the last.
//!
//! ```text
//! simulation   the machine behind the requests: time, scopes, and the result
//! mounted      the machine's files as a folder, for programs without a shared SQLite
//! host_files   databases of the host on the machine: their names, copied in, written back
//! changes      bytes that were written, and the calls in order
//! statements   which statements ran, how often and how long
//! transactions who pays for a commit
//! normal       the text of a statement without its values
//! ```

mod changes;
mod host_files;
mod mounted;
mod normal;
mod simulation;
mod statements;
mod transactions;

pub use host_files::{Note, Start, WriteBackError};
pub(crate) use host_files::{files_of, read_file, with_companions};
pub use mounted::{Answer, Attributes, Call, Mounted};
pub use normal::normalised;
pub use simulation::{KeptRun, Pace, Simulation};
