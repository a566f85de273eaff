/* The functions that stand before those of the program's SQLite when the shim is preloaded. */

#include "shim.h"

#include <dlfcn.h>
#include <string.h>

PUBLIC int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int is_recorded = record_open(host, name, flags, vfs);
  int code = host->open_v2(name, db, flags, vfs);
  record_opened(is_recorded, code, db ? *db : NULL);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_open(const char *name, sqlite3 **db) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int is_recorded = record_open(host, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  int code = host->open(name, db);
  record_opened(is_recorded, code, db ? *db : NULL);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_open16(const void *name, sqlite3 **db) {
  struct host *host = host_ready();
  if (!host) return SQLITE_ERROR;
  int is_recorded = record_open(host, NULL, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  int code = host->open16(name, db);
  record_opened(is_recorded, code, db ? *db : NULL);
  if (db) watch_connection(host, *db);
  return code;
}

PUBLIC int sqlite3_step(sqlite3_stmt *statement) {
  struct host *host = host_of_program();
  if (!host) return SQLITE_MISUSE;
  int is_recorded = record_begin(CALL_STEP, statement, 0, 0, NULL, 0);
  int code = watch_step(host, statement);
  record_end(is_recorded, code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code);
  return code;
}

/* A program that loads SQLite by itself looks its functions up there, past those above. So the file
 * system is registered as soon as SQLite is loaded. RTLD_DEEPBIND would lead a library past them
 * as well. The last call is a jump: the loader looks at who called it. */
PUBLIC void *dlopen(const char *name, int flags) {
  static void *(*next)(const char *, int);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
  const char *end = name ? strrchr(name, '/') : NULL;
  const char *base = end ? end + 1 : name;
  if (base && strncmp(base, "libsqlite3", 10) == 0 && !(flags & RTLD_NOLOAD)) {
    void *library = next(name, flags & ~RTLD_DEEPBIND);
    struct host *host = library ? host_ready() : NULL;
    if (host) watch_all(host);
    return library;
  }
  return next(name, flags & ~RTLD_DEEPBIND);
}
