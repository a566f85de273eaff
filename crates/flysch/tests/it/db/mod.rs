//! The database as its user sees it: through its calls, on a simulated chip.

mod alike;
mod campaign;
mod changes;
mod churn;
mod counts;
mod criteria;
mod cuts;
mod defects;
mod doubts;
mod failures;
mod forge;
mod full;
mod hostile;
mod image;
mod joins;
mod ledger;
mod lies;
mod memory;
mod moments;
mod nvram;
mod packed;
mod queries;
mod refusals;
mod relations;
mod rings;
mod roots;

mod schemas;
mod scrub;
mod snapshots;
mod sorts;
mod spent;
mod versions;
mod wakes;
mod world;
mod worst;
