//! The database as its user sees it: through its calls, on a simulated chip.

mod alike;
mod campaign;
mod changes;
mod churn;
mod counts;
mod cuts;
mod defects;
mod failures;
mod forge;
mod full;
mod hostile;
mod image;
mod ledger;
mod lies;
mod memory;
mod nvram;
mod queries;
mod relations;
mod rings;
mod roots;
mod scrub;
mod snapshots;
mod version_1;
mod world;
mod worst;
