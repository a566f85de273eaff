//! `flysch-peers`: a table of engines, as `docs/peers.md` has it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
#![expect(clippy::cast_precision_loss, reason = "counts are small")]

use std::process::ExitCode;

use clap::Parser;
use flysch_chip::Ending;
use flysch_peers::costs::{Costs, Workload, costs};
use flysch_peers::cuts::{Found, cuts};
use flysch_peers::engines::Engine;
use flysch_peers::flash::Cost;
use flysch_peers::store::Failed;
use strum::VariantArray;

/// Compare engines of others with this project's on one simulated chip.
#[derive(Debug, Parser)]
#[command(after_help = "Example: flysch-peers --keys 200 --cuts 5")]
struct Args {
    /// Keys that are put, each in a transaction of its own; half as many are put again and got
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=5000))]
    keys: u32,
    /// Power cuts with each of the nine endings
    #[arg(long, default_value_t = 25)]
    cuts: u32,
    /// Seed of keys and cuts
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match report(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn report(args: &Args) -> Result<(), Failed> {
    // A panic of an engine is counted.
    std::panic::set_hook(Box::new(|_| {}));
    let engines = || Engine::VARIANTS.iter().copied().filter(|engine| engine.is_there());
    println!("| engine | a put | an update | a get | opening |");
    println!("|---|--:|--:|--:|--:|");
    let (keys, some) = (args.keys, args.keys.div_ceil(2));
    for engine in engines() {
        let workload = Workload { keys, updates: some, gets: some };
        let within = |error: Failed| Failed(format!("{}: {}", engine.name(), error.0));
        let Costs { puts, updates, gets, open } =
            costs(engine, workload, args.seed).map_err(within)?;
        let cells = [each(puts, keys), each(updates, some), each(gets, some), each(open, 1)];
        println!("| `{}` | {} |", engine.name(), cells.join(" | "));
    }
    println!(
        "\n| engine | cuts that Linux survives | lost, wrong, dead, broke | all cuts | lost, wrong, dead, broke |"
    );
    println!("|---|--:|--:|--:|--:|");
    for engine in engines() {
        let rest: Vec<Ending> =
            Ending::KNOWN.into_iter().filter(|ending| !Ending::ALL.contains(ending)).collect();
        let kind = cuts(engine, &Ending::ALL, args.cuts, args.seed)?;
        let hard = cuts(engine, &rest, args.cuts, args.seed)?;
        let all = Found {
            cuts: kind.cuts + hard.cuts,
            lost: kind.lost + hard.lost,
            wrong: kind.wrong + hard.wrong,
            dead: kind.dead + hard.dead,
            broke: kind.broke + hard.broke,
        };
        println!("| `{}` | {} | {} |", engine.name(), told(kind), told(all));
    }
    Ok(())
}

/// The cost of one of `count` requests: programs, reads, erases, milliseconds of the chip.
fn each(cost: Cost, count: u32) -> String {
    let each = |number: u64| number as f64 / f64::from(count);
    let Cost { reads, programs, erases, nanoseconds } = cost;
    format!(
        "{:.2} P, {:.1} R, {:.3} E, {:.2} ms",
        each(programs),
        each(reads),
        each(erases),
        each(nanoseconds) / 1e6
    )
}

fn told(found: Found) -> String {
    let Found { cuts, lost, wrong, dead, broke } = found;
    format!("{cuts} | {lost}, {wrong}, {dead}, {broke}")
}
