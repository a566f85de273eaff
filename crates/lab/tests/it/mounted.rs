//! The machine's files as a folder, asked as the kernel asks.

use std::fs;
use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::program::{Answer, Call, Mounted, Pace, Simulation};
use flysch_lab::workload::{Contacts, Workload};
use rustix::io::Errno;

const ROOT: u64 = 1;

fn scenario(stack: Stack) -> Scenario {
    let platform = Platform::named("nandsim-6.1").expect("it is built in");
    Grid::new(Workload::Contacts(Contacts::DEFAULT), stack, Arc::new(platform))
        .scenarios()
        .remove(0)
}

fn create(folder: &mut Mounted<'_>, parent: u64, name: &str) -> (u64, u64, bool) {
    let call = Call::Create { parent, name: name.to_owned(), mode: 0o600 };
    match folder.carry_out(call) {
        Ok(Answer::Opened { handle, file, is_memory }) => (file.node, handle, is_memory),
        other => panic!("{other:?}"),
    }
}

fn write(folder: &mut Mounted<'_>, handle: u64, offset: u64, bytes: &[u8]) {
    let done = folder.carry_out(Call::Write { handle, offset, bytes: bytes.to_vec() });
    assert_eq!(done, Ok(Answer::Done));
}

fn size(folder: &mut Mounted<'_>, node: u64) -> Result<u64, Errno> {
    match folder.carry_out(Call::Attributes { node })? {
        Answer::Node(found) => Ok(found.size),
        other => panic!("{other:?}"),
    }
}

fn lookup(folder: &mut Mounted<'_>, parent: u64, name: &str) -> Result<u64, Errno> {
    match folder.carry_out(Call::Lookup { parent, name: name.to_owned() })? {
        Answer::Node(found) => Ok(found.node),
        other => panic!("{other:?}"),
    }
}

fn names(folder: &mut Mounted<'_>, node: u64) -> Vec<String> {
    match folder.carry_out(Call::List { node }) {
        Ok(Answer::Names(names)) => names.into_iter().map(|(name, ..)| name).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_outlive_their_names_and_folders_take_them_along() {
    let host = tempfile::tempdir().unwrap();
    fs::write(host.path().join("there"), "on the host").unwrap();
    fs::write(host.path().join("unused"), "on the host").unwrap();
    let root = host.path().to_str().unwrap();
    let simulation =
        Simulation::new(&scenario(Stack::UBIFS), Pace::None, Some(root), true).unwrap();
    let mut folder = Mounted::new(&simulation, 1 << 26);
    let inner = Call::MakeFolder { parent: ROOT, name: "d".to_owned() };
    let Ok(Answer::Node(inner)) = folder.carry_out(inner) else { panic!("a folder") };
    let (file, handle, is_memory) = create(&mut folder, inner.node, "f");
    assert!(!is_memory);
    write(&mut folder, handle, 0, &[7; 5000]);
    let (from, to) = ((ROOT, "d".to_owned()), (ROOT, "e".to_owned()));
    folder.carry_out(Call::Rename { from, to, replaces: true }).unwrap();
    assert_eq!(lookup(&mut folder, ROOT, "d"), Err(Errno::NOENT));
    let moved = lookup(&mut folder, ROOT, "e").unwrap();
    assert_eq!(lookup(&mut folder, moved, "f"), Ok(file));
    let remove = |parent, name: &str| Call::Remove { parent, name: name.to_owned() };
    assert_eq!(folder.carry_out(remove(ROOT, "e")), Err(Errno::NOTEMPTY));
    folder.carry_out(remove(moved, "f")).unwrap();
    assert_eq!(size(&mut folder, file), Ok(5000), "it is still open");
    assert!(folder.is_in_use());
    folder.carry_out(Call::Release { handle }).unwrap();
    assert_eq!(size(&mut folder, file), Err(Errno::NOENT));
    assert_eq!(names(&mut folder, ROOT), ["e", "there", "unused"]);
    let there = lookup(&mut folder, ROOT, "there").unwrap();
    assert_eq!(size(&mut folder, there), Ok(11));
    folder.carry_out(remove(ROOT, "there")).unwrap();
    assert_eq!(lookup(&mut folder, ROOT, "there"), Err(Errno::NOENT), "it is not copied again");
    assert_eq!(names(&mut folder, ROOT), ["e", "unused"]);
    assert_eq!(simulation.calls(), "write d/f 0 5000\n");
    assert_eq!(fs::read_to_string(host.path().join("there")).unwrap(), "on the host");
}

#[test]
fn the_index_of_a_log_is_memory_where_files_can_be_shared() {
    for (stack, shares) in [(Stack::UBIFS, true), (Stack::JFFS2, false)] {
        let simulation =
            Simulation::new(&scenario(stack), Pace::None, Some("/nowhere"), true).unwrap();
        let mut folder = Mounted::new(&simulation, 1 << 26);
        let (node, handle, is_memory) = create(&mut folder, ROOT, "a.db-shm");
        assert_eq!(is_memory, shares);
        write(&mut folder, handle, 4095, &[1]);
        assert_eq!(size(&mut folder, node), Ok(4096));
        let read = folder.carry_out(Call::Read { handle, offset: 4090, size: 100 });
        assert_eq!(read, Ok(Answer::Bytes(vec![0, 0, 0, 0, 0, 1])));
        folder.carry_out(Call::Resize { node, size: 3 }).unwrap();
        assert_eq!(size(&mut folder, node), Ok(3));
        assert_eq!(names(&mut folder, ROOT), ["a.db-shm"]);
        assert_eq!(simulation.calls().is_empty(), shares);
        assert_eq!(folder.carry_out(Call::Release { handle: 99 }), Err(Errno::BADF));
        assert_eq!(size(&mut folder, 99), Err(Errno::STALE));
    }
}
