//! The table of a fit, as TOML: what a platform's `prices` names.

use std::fmt::Write;

use flysch_linux::cpu::Unit;

use super::fit::{Fit, Price};

/// The table of prices, with the source of each beside it. What belongs to a platform and not to
/// the kernel is given in comments.
pub fn toml(fit: &Fit, kernel: &str, sqlite: &str) -> String {
    let mut text = format!(
        "# Instructions that the work of the stack takes, by `flysch vm calibrate`. Each price is\n\
         # FITTED to the measurements of the calibration; beside it are those of whose time it takes\n\
         # the largest shares. A price that is guessed says so.\n\
         kernel = \"{kernel}\"\nsqlite = \"{sqlite}\"\n\n[instructions]\n"
    );
    let (units, others) = fit.prices.split_at(Unit::COUNT);
    for price in units {
        let number = format!("{} = {:.3}", price.unit, price.instructions);
        writeln!(text, "{number:31} # {}", source(price)).expect("a string takes what is written");
    }
    text.push_str("\n# Of the platform, nanoseconds:\n");
    for price in others {
        let number = format!("# {} = {:.3}", price.unit, price.ns);
        writeln!(text, "{number:31} # {}", source(price)).expect("a string takes what is written");
    }
    text
}

fn source(price: &Price) -> String {
    if price.sources.is_empty() {
        return "guessed: no measurement has a share of 2 % of it".to_owned();
    }
    price.sources.join("; ")
}
