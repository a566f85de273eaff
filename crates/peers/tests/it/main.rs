//! Each engine that the build has gives back what was put, and what is promised of it at cuts.

use flysch_chip::Ending;
use flysch_peers::costs::{Workload, costs};
use flysch_peers::cuts::cuts;
use flysch_peers::engines::Engine;
use strum::VariantArray;

const SMALL: Workload = Workload { keys: 60, updates: 30, gets: 30 };

fn engines() -> impl Iterator<Item = Engine> {
    Engine::VARIANTS.iter().copied().filter(|engine| engine.is_there())
}

#[test]
fn every_engine_gives_what_was_put_and_a_run_can_be_repeated() {
    let mut programs = Vec::new();
    for engine in engines() {
        let [one, other] = [(); 2].map(|()| costs(engine, SMALL, 3));
        let name = engine.name();
        let (one, other) = (one.unwrap_or_else(|why| panic!("{name}: {}", why.0)), other.unwrap());
        assert_eq!(one, other, "{name}");
        assert!(one.puts.programs >= SMALL.keys.into(), "{name}: a put that is durable programs");
        assert_eq!(one.gets.programs, 0, "{name}: a get programs nothing");
        programs.push((one.updates.programs, name));
    }
    assert_eq!(programs.iter().min().map(|(_, name)| *name), Some("flysch"), "{programs:?}");
}

#[test]
fn engines_keep_what_they_promise_at_cuts() {
    for engine in engines() {
        let found = cuts(engine, &Ending::ALL, 3, 3).expect("nothing fails before the cut");
        let name = engine.name();
        assert_eq!(found.cuts, 12, "{name}");
        assert_eq!((found.wrong, found.dead, found.broke), (0, 0, 0), "{name}");
        // An update is a deletion and an insertion there.
        assert!(found.lost == 0 || engine == Engine::Tickv, "{name}: {found:?}");
    }
    let every = cuts(Engine::Flysch, &Ending::KNOWN, 4, 5).expect("nothing fails before the cut");
    assert_eq!((every.lost, every.wrong, every.dead, every.broke), (0, 0, 0, 0), "{every:?}");
}

/// Cuts that take a value of an engine are seen: the count can be another one than 0.
#[cfg(feature = "tickv")]
#[test]
fn a_value_that_is_lost_is_counted() {
    let found = cuts(Engine::Tickv, &[Ending::Torn], 40, 3).expect("nothing fails before the cut");
    assert!(found.lost > 0, "{found:?}");
}
