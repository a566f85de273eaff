//! Which mean powers apply to a scenario: those that the tables of the papers state for it.

use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, ReadAheadOption};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::trace::Operations;
use flysch_lab::workload::{Contacts, Pattern, Read, Workload};

fn scenario(workload: Workload, stack: Stack, choice: ReadAheadOption) -> Scenario {
    let platform = Platform::named("omap3evm-2.6.37").expect("it is built in");
    let mut grid = Grid::new(workload, stack, Arc::new(platform));
    grid.axes.read_ahead = vec![choice];
    grid.scenarios().remove(0)
}

#[test]
fn powers_are_those_of_the_papers_tables() {
    use ReadAheadOption::{Advised, Off, On};
    let read = |pattern| Workload::Read(Read { pattern, ..Read::DEFAULT });
    let (sequential, random) = (read(Pattern::Sequential), read(Pattern::Random));
    let contacts = Workload::Contacts(Contacts::DEFAULT);
    let (jffs2, yaffs2) = (Stack::file(Main::Jffs2), Stack::file(Main::Yaffs2));
    let cases = [
        (sequential, jffs2, On, [223.0, 29.0]),
        (sequential, jffs2, Off, [223.0, 24.0]),
        (random, jffs2, Advised, [223.0, 23.0]),
        (sequential, yaffs2, On, [211.0, 28.0]),
        (random, yaffs2, Off, [214.0, 26.0]),
        (contacts, Stack::JFFS2, On, [245.65, 30.188]),
        (contacts, Stack::YAFFS2, Off, [245.296, 36.319]),
    ];
    for (workload, stack, choice, powers) in cases {
        let scenario = scenario(workload, stack, choice);
        let busy = Operations { flash_ns: 5, ..Operations::default() };
        let drawn = scenario.build.platform.power.drawn(scenario.activity(), 2_000_000_000, &busy);
        let found: Vec<f64> = drawn.iter().map(|drawn| drawn.power_mw).collect();
        assert_eq!(found, powers, "{} on {}", workload.name(), stack.name());
        assert!(drawn.iter().all(|it| (it.energy_mj - 2.0 * it.power_mw).abs() < 1e-9));
    }
}
