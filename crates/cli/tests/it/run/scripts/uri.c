/* Names with options, a file system that the program registers, temporary databases and blobs. */
#include <sqlite3.h>
#include <stdio.h>

static int print(void *no, int count, char **values, char **names) {
  (void)no, (void)names;
  for (int i = 0; i < count; i++) printf("%s|", values[i] ? values[i] : "");
  puts("");
  return 0;
}

static void try(const char *name, int flags, const char *vfs, const char *sql) {
  sqlite3 *db;
  int opened = sqlite3_open_v2(name, &db, flags, vfs);
  int done = opened ? 0 : sqlite3_exec(db, sql, print, 0, 0);
  printf("%s: %d, %d, %s\n", name, opened, done, sqlite3_errmsg(db));
  sqlite3_close(db);
}

int main(void) {
  static const char *names[] = {"file:1.db?vfs=unix", "file:2.db?vfs=unix-dotfile",
                                "file:3.db?vfs=unix-excl&cache=private", "file:4.db?nolock=1",
                                "file:5.db?psow=0", "6.db"};
  static sqlite3_vfs own;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
  for (int i = 0; i < 6; i++)
    try(names[i], flags, 0,
        "create table t(x); insert into t values(1), (2); begin; update t set x = x + 1; commit;"
        "select sum(x) from t; pragma integrity_check");
  own = *sqlite3_vfs_find(0);
  own.zName = "own";
  own.pNext = 0;
  sqlite3_vfs_register(&own, 0);
  try("7.db", flags, "own", "create table t(x); insert into t values(1); select * from t");
  try("file:1.db?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, 0, "select sum(x) from t");
  try("", flags, 0, "create table t(x); insert into t values(zeroblob(9000)); select count(*) from t");
  sqlite3 *db;
  sqlite3_blob *blob;
  sqlite3_open("8.db", &db);
  sqlite3_exec(db, "create table b(x blob); insert into b values(zeroblob(100000))", 0, 0, 0);
  sqlite3_blob_open(db, "main", "b", "x", 1, 1, &blob);
  sqlite3_blob_write(blob, "hello", 5, 50000);
  sqlite3_blob_close(blob);
  sqlite3_exec(db, "select hex(substr(x, 50001, 5)) from b", print, 0, 0);
  return sqlite3_close(db);
}
