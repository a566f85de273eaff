//! An application with an object-relational mapper and migrations, and a program in C.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::blame::check_sums;
use super::calls::compare;
use super::{folder, installed, native, output_of};

pub(crate) const APPLICATION: &str = "
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, ForeignKey, Integer, String, create_engine, select, func
from sqlalchemy.orm import Session, declarative_base, relationship
Base = declarative_base()
class Room(Base):
    __tablename__ = 'rooms'
    id = Column(Integer, primary_key=True)
    name = Column(String(40), unique=True)
    readings = relationship('Reading', back_populates='room')
class Reading(Base):
    __tablename__ = 'readings'
    id = Column(Integer, primary_key=True)
    room_id = Column(ForeignKey('rooms.id'), index=True)
    value = Column(Integer)
    room = relationship(Room, back_populates='readings')
engine = create_engine('sqlite:///app.db')
Base.metadata.create_all(engine)
with engine.begin() as connection:
    migrate = Operations(MigrationContext.configure(connection))
    migrate.add_column('readings', Column('unit', String(4), server_default='C'))
    with migrate.batch_alter_table('rooms') as rooms:
        rooms.add_column(Column('floor', Integer))
with Session(engine) as session:
    for n in range(5):
        session.add(Room(name='room %d' % n, readings=[Reading(value=v) for v in range(20)]))
        session.commit()
    session.query(Reading).filter(Reading.value > 10).update({'value': 7})
    session.commit()
    print(session.execute(select(func.count(), func.sum(Reading.value))).one())
";

/// Whether a module of the system's Python is installed.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
pub(crate) fn has_module(name: &str) -> bool {
    let found = Path::new("/usr/lib/python3/dist-packages").join(name).is_dir();
    if !found {
        eprintln!("skipped: {name} is not installed (apt-get install python3-{name})");
    }
    found
}

#[test]
fn an_application_with_migrations_runs_the_same_way_twice() {
    let Some(python) = installed("python3") else { return };
    if !has_module("sqlalchemy") || !has_module("alembic") {
        return;
    }
    let python = Path::new(&python).with_file_name("python3").display().to_string();
    let folders = [folder(), folder()];
    let traces = folders.each_ref().map(|folder| {
        fs::write(folder.path().join("app.py"), APPLICATION).expect("a script");
        let options = "--on sqlite/ubifs --pace none --now 1700000000 --trace app.trace";
        let ran = output_of(folder.path(), options, &[&python, "app.py"]);
        assert!(ran.stdout.contains("(100, "), "{}", ran.stdout);
        check_sums(&ran.figures, "an application");
        let rows = ran.figures["by_table"].as_array().expect("tables");
        assert!(rows.iter().any(|row| row["name"] == "ix_readings_room_id"), "{rows:?}");
        (ran.stdout, fs::read(folder.path().join("app.trace")).expect("a trace"))
    });
    assert!(traces[0] == traces[1], "the same events");
    assert_eq!(native(folders[0].path(), &[&python, "app.py"]), traces[0].0);
    for stack in ["sqlite/yaffs2", "sqlite/jffs2", "sqlite/ftl"] {
        let folder = folder();
        fs::write(folder.path().join("app.py"), APPLICATION).expect("a script");
        compare(folder.path(), &format!("--on {stack}"), &[&python, "app.py"]);
    }
}

pub(crate) const IN_C: &str = r#"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
static void traced(void *count, const char *sql) { (void)sql; ++*(int *)count; }
int main(int argc, char **argv) {
  sqlite3 *db;
  sqlite3_stmt *one, *other;
  int count = 0;
  if (argc < 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                  "unix")) return 1;
  sqlite3_trace(db, traced, &count);
  sqlite3_exec(db, "CREATE TABLE t(x); BEGIN", 0, 0, 0);
  sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?1)", -1, &one, 0);
  for (int i = 0; i < 100; i++) {
    sqlite3_bind_int(one, 1, i);
    sqlite3_step(one);
    sqlite3_reset(one);
  }
  sqlite3_exec(db, "COMMIT", 0, 0, 0);
  sqlite3_prepare_v2(db, "SELECT x FROM t", -1, &other, 0);
  while (sqlite3_step(other) == SQLITE_ROW && sqlite3_column_int(other, 0) < 50) {
    sqlite3_bind_int(one, 1, 1000);
    sqlite3_step(one);
    sqlite3_reset(one);
  }
  sqlite3_finalize(one);
  sqlite3_finalize(other);
  printf("%d statements, %d changes\n", count, sqlite3_total_changes(db));
  return sqlite3_close(db);
}
"#;

#[test]
fn a_program_in_c_with_a_trace_and_a_file_system_of_its_choice() {
    if !Path::new("/usr/include/sqlite3.h").is_file() {
        eprintln!("skipped: libsqlite3-dev is not installed");
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("p.c"), IN_C).expect("a source");
    let mut compiler = Command::new("cc");
    let compiler = compiler.current_dir(folder.path()).args(["p.c", "-o", "p", "-lsqlite3"]);
    assert!(compiler.status().expect("a C compiler").success());
    let ran = output_of(folder.path(), "--on sqlite/ftl", &["./p", "a.db"]);
    assert_eq!(ran.stdout, native(folder.path(), &["./p", "a.db"]));
    for (stack, name) in [("jffs2", "b.db"), ("ubifs", "c.db"), ("yaffs2", "d.db")] {
        compare(folder.path(), &format!("--on sqlite/{stack}"), &["./p", name]);
    }
    assert_eq!(ran.figures["requests"].as_u64(), Some(154));
    check_sums(&ran.figures, "a program in C");
    let rows = ran.figures["by_statement"].as_array().expect("statements");
    let insert = rows.iter().find(|row| row["statement"] == "INSERT INTO t VALUES(?)");
    assert_eq!(insert.map(|row| &row["executions"]), Some(&150.into()), "{rows:?}");
}

/// Programs that load SQLite in ways of their own.
#[test]
fn a_module_that_binds_to_its_own_library_and_a_program_that_looks_functions_up() {
    let folder = folder();
    if let Some(php) = installed("php").filter(|_| has_module_of_php()) {
        let script = "$d = new PDO('sqlite:a.db'); $d->exec('create table t(x)'); \
            $d->exec('insert into t values(7)'); echo $d->query('select x from t')->fetchColumn();";
        let ran = output_of(folder.path(), "", &[&php, "-r", script]);
        assert_eq!(ran.stdout, "7", "{}", ran.stderr);
        assert_eq!(ran.figures["requests"], 3, "{}", ran.stderr);
    }
    if let Some(python) = installed("python3") {
        let script = "
import ctypes
lib = ctypes.CDLL('libsqlite3.so.0')
db = ctypes.c_void_p()
assert lib.sqlite3_open(b'b.db', ctypes.byref(db)) == 0
assert lib.sqlite3_exec(db, b'create table t(x); insert into t values(1)', None, None, None) == 0
lib.sqlite3_close(db)
";
        let ran = output_of(folder.path(), "", &[&python, "-c", script]);
        assert_eq!(ran.figures["requests"], 2, "{}", ran.stderr);
    }
    assert_eq!(super::names(folder.path()), [""; 0], "the host keeps nothing");
}

#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn has_module_of_php() -> bool {
    let modules = Command::new("php").arg("-m").output();
    let found = modules.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("pdo_sqlite"));
    if !found {
        eprintln!("skipped: pdo_sqlite is not installed (apt-get install php-sqlite3)");
    }
    found
}
