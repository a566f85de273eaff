/* The functions that stand before those of the program's SQLite when the shim is preloaded. */

#include "shim.h"

PUBLIC int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int code = host->open_v2(name, db, flags, vfs);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_open(const char *name, sqlite3 **db) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int code = host->open(name, db);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_open16(const void *name, sqlite3 **db) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int code = host->open16(name, db);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_step(sqlite3_stmt *statement) {
  struct host *host = host_of_program();
  return host ? watch_step(host, statement) : SQLITE_MISUSE;
}
