/* What the program asks of SQLite, for `flysch record`.
 *
 * Each call is told before it is made, with its values as they are, and its result behind it where
 * that says more than success. Calls that SQLite or a function of the program makes inside another
 * call are part of that call. What cannot be made again is noted by its name. */

#include "shim.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The largest piece of a text or blob that goes into one request. */
#define PIECE_MAX 65536

static __thread int depth;
__thread int record_describes;

/* Threads of the program, so that the result of a call finds it. */
static uint32_t thread_number(void) {
  static _Atomic uint32_t count;
  static __thread uint32_t own;
  if (!own) own = atomic_fetch_add(&count, 1) + 1;
  return own;
}

static void tell(enum call what, const void *subject, int flags, int64_t number, const void *bytes,
                 size_t size) {
  const char *at = bytes;
  struct head head = {.kind = REQUEST_CALL, .file = CALL_PIECE | thread_number() << 8};
  for (; size > PIECE_MAX; at += PIECE_MAX, size -= PIECE_MAX) {
    head.size = PIECE_MAX;
    channel_post(&head, at);
  }
  head = (struct head){.kind = REQUEST_CALL,
                       .size = (uint32_t)size,
                       .file = what | thread_number() << 8,
                       .flags = flags,
                       .offset = (int64_t)(intptr_t)subject,
                       .number = number};
  channel_post(&head, at);
}

/* A call begins. Returns whether it is recorded. */
int record_begin(enum call what, const void *subject, int flags, int64_t number, const void *bytes,
                 size_t size) {
  if (depth++ || !channel_is_recorded()) return 0;
  tell(what, subject, flags, number, bytes, size);
  return 1;
}

/* It has ended. `made` is what it made, and `used` how much of its text it used. */
static void ended(int is_recorded, int code, const void *made, int64_t used) {
  depth--;
  if (is_recorded && (code || made || used >= 0))
    tell(CALL_RESULT, made, code & 0xff, used, NULL, 0);
}

void record_end(int is_recorded, int code) { ended(is_recorded, code, NULL, -1); }

static void note(const char *what, const char *name) {
  char text[256];
  if (depth || !channel_is_recorded()) return;
  int size = snprintf(text, sizeof text, "%s %s", what, name ? name : "");
  tell(CALL_NOTE, NULL, 0, 0, text, size < (int)sizeof text ? (size_t)size : sizeof text - 1);
}

static int told_pragma(void *name, int count, char **values, char **names) {
  char text[128];
  (void)names;
  if (count > 0 && values[0]) {
    int size = snprintf(text, sizeof text, "%s=%s", (char *)name, values[0]);
    tell(CALL_PRAGMA, NULL, 0, 0, text, (size_t)size < sizeof text ? (size_t)size : 0);
  }
  return 0;
}

/* Tell which SQLite it is and what it does unless told otherwise. A database in memory answers, as
 * questions to the program's own would read it. */
static void describe(struct host *host) {
  static const char *const PRAGMAS[] = {"page_size",  "cache_size",  "synchronous",
                                        "auto_vacuum", "temp_store", "wal_autocheckpoint",
                                        "secure_delete", "foreign_keys", "locking_mode"};
  static _Atomic uint32_t told;
  uint32_t generation = channel_generation();
  if (atomic_exchange(&told, generation) == generation) return;
  const char *(*version)(void), *(*source)(void), *(*option)(int);
  int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
  int (*close)(sqlite3 *);
  *(void **)&version = host_find("sqlite3_libversion");
  *(void **)&source = host_find("sqlite3_sourceid");
  *(void **)&option = host_find("sqlite3_compileoption_get");
  *(void **)&exec = host_find("sqlite3_exec");
  *(void **)&close = host_find("sqlite3_close");
  if (version) tell(CALL_VERSION, NULL, 0, 0, version(), strlen(version()));
  if (source) tell(CALL_SOURCE, NULL, 0, 0, source(), strlen(source()));
  const char *text;
  for (int i = 0; option && (text = option(i)); i++) tell(CALL_OPTION, NULL, 0, 0, text, strlen(text));
  sqlite3 *db = NULL;
  if (!exec || !close) return;
  record_describes = 1;
  host->open(":memory:", &db);
  for (size_t i = 0; i < sizeof PRAGMAS / sizeof *PRAGMAS; i++) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA %s", PRAGMAS[i]);
    if (db) exec(db, sql, told_pragma, (void *)PRAGMAS[i], NULL);
  }
  close(db);
  record_describes = 0;
}

int record_open(struct host *host, const char *name, int flags, const char *vfs) {
  char folder[4096] = "", text[8192];
  if (depth++ || !channel_is_recorded()) return 0;
  describe(host);
  if (!getcwd(folder, sizeof folder)) folder[0] = 0;
  int size = snprintf(text, sizeof text, "%s\n%s\n%s", folder, vfs ? vfs : "", name ? name : "");
  tell(CALL_OPEN, NULL, flags, 0, text, (size_t)size < sizeof text ? (size_t)size : 0);
  return 1;
}

void record_opened(int is_recorded, int code, sqlite3 *db) { ended(is_recorded, code, db, -1); }

/* A function of the program's SQLite, looked up once. */
#define NEXT(result, name, parameters)                                                           \
  static result(*next) parameters;                                                               \
  if (!next) *(void **)&next = host_find("sqlite3_" #name);                                      \
  if (!next) return (result)SQLITE_MISUSE

/* A function that stands before one of SQLite and is recorded. */
#define RECORDED(name, parameters, arguments, ...)                                               \
  PUBLIC int sqlite3_##name parameters {                                                         \
    NEXT(int, name, parameters);                                                                 \
    int is_recorded = record_begin(__VA_ARGS__);                                                 \
    int code = next arguments;                                                                   \
    record_end(is_recorded, code);                                                               \
    return code;                                                                                 \
  }

#define NONE NULL, 0

RECORDED(close, (sqlite3 * db), (db), CALL_CLOSE, db, 1, 0, NONE)
RECORDED(close_v2, (sqlite3 * db), (db), CALL_CLOSE, db, 2, 0, NONE)
RECORDED(reset, (sqlite3_stmt * it), (it), CALL_RESET, it, 0, 0, NONE)
RECORDED(finalize, (sqlite3_stmt * it), (it), CALL_FINALIZE, it, 0, 0, NONE)
RECORDED(clear_bindings, (sqlite3_stmt * it), (it), CALL_CLEAR, it, 0, 0, NONE)
RECORDED(busy_timeout, (sqlite3 * db, int ms), (db, ms), CALL_BUSY_TIMEOUT, db, 0, ms, NONE)
RECORDED(wal_autocheckpoint, (sqlite3 * db, int n), (db, n), CALL_AUTO_CHECKPOINT, db, 0, n, NONE)
RECORDED(wal_checkpoint, (sqlite3 * db, const char *name), (db, name), CALL_CHECKPOINT, db,
         SQLITE_CHECKPOINT_PASSIVE, 0, name, name ? strlen(name) : 0)
RECORDED(wal_checkpoint_v2, (sqlite3 * db, const char *name, int mode, int *log, int *done),
         (db, name, mode, log, done), CALL_CHECKPOINT, db, mode, 0, name, name ? strlen(name) : 0)

/* Texts. */

static size_t size16(const void *text) {
  const uint16_t *at = text;
  size_t size = 0;
  while (at && at[size]) size++;
  return size * 2;
}

static size_t size_of(const char *text, int64_t given) {
  if (!text) return 0;
  return given < 0 ? strlen(text) : strnlen(text, (size_t)given);
}

#define PREPARED(name, type, extra, pass, flags, what, measure)                                  \
  PUBLIC int sqlite3_##name(sqlite3 *db, const type *sql, int size EXTRA##extra,                 \
                            sqlite3_stmt **out, const type **tail) {                             \
    NEXT(int, name, (sqlite3 *, const type *, int EXTRA_TYPE##extra, sqlite3_stmt **,            \
                     const type **));                                                            \
    const type *end = sql;                                                                       \
    int is_recorded = record_begin(what, db, flags, 0, sql, measure);                            \
    int code = next(db, sql, size pass, out, &end);                                              \
    ended(is_recorded, code, code == SQLITE_OK && out ? *out : NULL,                             \
          end ? (const char *)end - (const char *)sql : 0);                                      \
    if (tail) *tail = end;                                                                       \
    return code;                                                                                 \
  }
#define EXTRA0
#define EXTRA_TYPE0
#define EXTRA1 , unsigned how
#define EXTRA_TYPE1 , unsigned
#define HOW , how

PREPARED(prepare, char, 0, , 0, CALL_PREPARE, size_of(sql, size))
PREPARED(prepare_v2, char, 0, , 0, CALL_PREPARE, size_of(sql, size))
PREPARED(prepare_v3, char, 1, HOW, (int)how, CALL_PREPARE, size_of(sql, size))
PREPARED(prepare16, void, 0, , 0, CALL_PREPARE16, size < 0 ? size16(sql) : (size_t)size)
PREPARED(prepare16_v2, void, 0, , 0, CALL_PREPARE16, size < 0 ? size16(sql) : (size_t)size)
PREPARED(prepare16_v3, void, 1, HOW, (int)how, CALL_PREPARE16, size < 0 ? size16(sql) : (size_t)size)

/* What the program does for a row is its own. */
struct callback {
  int (*function)(void *, int, char **, char **);
  void *argument;
};

static int called(void *place, int count, char **values, char **names) {
  struct callback *own = place;
  int saved = depth;
  depth = 0;
  int code = own->function(own->argument, count, values, names);
  depth = saved;
  return code;
}

PUBLIC int sqlite3_exec(sqlite3 *db, const char *sql, int (*function)(void *, int, char **, char **),
                        void *argument, char **message) {
  NEXT(int, exec, (sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **));
  struct callback own = {function, argument};
  int is_recorded = record_begin(CALL_EXECUTE, db, 0, 0, sql, size_of(sql, -1));
  /* Inside another call, the function is SQLite's. */
  int is_own = function && is_recorded;
  int code = next(db, sql, is_own ? called : function, is_own ? &own : argument, message);
  record_end(is_recorded, code);
  return code;
}

RECORDED(get_table,
         (sqlite3 * db, const char *sql, char ***out, int *rows, int *columns, char **message),
         (db, sql, out, rows, columns, message), CALL_EXECUTE, db, 0, 0, sql, size_of(sql, -1))

/* Values. */

typedef void (*destructor)(void *);

static int64_t bits(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

RECORDED(bind_null, (sqlite3_stmt * it, int n), (it, n), CALL_BIND_NULL, it, n, 0, NONE)
RECORDED(bind_int, (sqlite3_stmt * it, int n, int v), (it, n, v), CALL_BIND_INTEGER, it, n, v, NONE)
RECORDED(bind_int64, (sqlite3_stmt * it, int n, sqlite3_int64 v), (it, n, v), CALL_BIND_INTEGER, it,
         n, v, NONE)
RECORDED(bind_double, (sqlite3_stmt * it, int n, double v), (it, n, v), CALL_BIND_REAL, it, n,
         bits(v), NONE)
RECORDED(bind_zeroblob, (sqlite3_stmt * it, int n, int size), (it, n, size), CALL_BIND_ZEROS, it, n,
         size < 0 ? 0 : size, NONE)
RECORDED(bind_zeroblob64, (sqlite3_stmt * it, int n, sqlite3_uint64 size), (it, n, size),
         CALL_BIND_ZEROS, it, n, (int64_t)size, NONE)
RECORDED(bind_text, (sqlite3_stmt * it, int n, const char *v, int size, destructor end),
         (it, n, v, size, end), v ? CALL_BIND_TEXT : CALL_BIND_NULL, it, n, 0, v,
         v && size >= 0 ? (size_t)size : size_of(v, -1))
RECORDED(bind_text16, (sqlite3_stmt * it, int n, const void *v, int size, destructor end),
         (it, n, v, size, end), v ? CALL_BIND_TEXT16 : CALL_BIND_NULL, it, n, 0, v,
         v && size >= 0 ? (size_t)size : size16(v))
RECORDED(bind_text64,
         (sqlite3_stmt * it, int n, const char *v, sqlite3_uint64 size, destructor end,
          unsigned char encoding),
         (it, n, v, size, end, encoding),
         !v                        ? CALL_BIND_NULL
         : encoding == SQLITE_UTF8 ? CALL_BIND_TEXT
                                   : CALL_BIND_TEXT16,
         it, n, 0, v, v ? (size_t)size : 0)
RECORDED(bind_blob, (sqlite3_stmt * it, int n, const void *v, int size, destructor end),
         (it, n, v, size, end), v ? CALL_BIND_BLOB : CALL_BIND_NULL, it, n, 0, v,
         v && size > 0 ? (size_t)size : 0)
RECORDED(bind_blob64, (sqlite3_stmt * it, int n, const void *v, sqlite3_uint64 size, destructor end),
         (it, n, v, size, end), v ? CALL_BIND_BLOB : CALL_BIND_NULL, it, n, 0, v,
         v ? (size_t)size : 0)

/* What cannot be made again. */

#define NOTED(result, name, what, which, parameters, arguments)                                  \
  PUBLIC result sqlite3_##name parameters {                                                      \
    NEXT(result, name, parameters);                                                              \
    note(what, which);                                                                           \
    depth++;                                                                                     \
    result outcome = next arguments;                                                             \
    depth--;                                                                                     \
    return outcome;                                                                              \
  }

typedef void (*function_of_values)(sqlite3_context *, int, sqlite3_value **);
typedef void (*function_at_end)(sqlite3_context *);
typedef int (*comparison)(void *, int, const void *, int, const void *);

NOTED(int, create_function, "function", name,
      (sqlite3 * db, const char *name, int count, int how, void *own, function_of_values call,
       function_of_values step, function_at_end end),
      (db, name, count, how, own, call, step, end))
NOTED(int, create_function_v2, "function", name,
      (sqlite3 * db, const char *name, int count, int how, void *own, function_of_values call,
       function_of_values step, function_at_end end, destructor destroy),
      (db, name, count, how, own, call, step, end, destroy))
NOTED(int, create_window_function, "function", name,
      (sqlite3 * db, const char *name, int count, int how, void *own, function_of_values step,
       function_at_end end, function_at_end value, function_of_values inverse, destructor destroy),
      (db, name, count, how, own, step, end, value, inverse, destroy))
NOTED(int, create_collation, "collation", name,
      (sqlite3 * db, const char *name, int how, void *own, comparison compare),
      (db, name, how, own, compare))
NOTED(int, create_collation_v2, "collation", name,
      (sqlite3 * db, const char *name, int how, void *own, comparison compare, destructor destroy),
      (db, name, how, own, compare, destroy))
NOTED(int, create_module, "module", name,
      (sqlite3 * db, const char *name, const sqlite3_module *it, void *own), (db, name, it, own))
NOTED(int, create_module_v2, "module", name,
      (sqlite3 * db, const char *name, const sqlite3_module *it, void *own, destructor destroy),
      (db, name, it, own, destroy))
NOTED(int, load_extension, "extension", file,
      (sqlite3 * db, const char *file, const char *entry, char **message),
      (db, file, entry, message))
NOTED(int, blob_open, "blob", table,
      (sqlite3 * db, const char *schema, const char *table, const char *column, sqlite3_int64 row,
       int flags, sqlite3_blob **out),
      (db, schema, table, column, row, flags, out))
NOTED(int, deserialize, "deserialize", schema,
      (sqlite3 * db, const char *schema, unsigned char *bytes, sqlite3_int64 size,
       sqlite3_int64 room, unsigned flags),
      (db, schema, bytes, size, room, flags))
NOTED(int, bind_pointer, "pointer", kind,
      (sqlite3_stmt * it, int n, void *own, const char *kind, destructor destroy),
      (it, n, own, kind, destroy))

PUBLIC sqlite3_backup *sqlite3_backup_init(sqlite3 *to, const char *to_name, sqlite3 *from,
                                           const char *from_name) {
  static sqlite3_backup *(*next)(sqlite3 *, const char *, sqlite3 *, const char *);
  if (!next) *(void **)&next = host_find("sqlite3_backup_init");
  note("backup", from_name);
  return next ? next(to, to_name, from, from_name) : NULL;
}

/* A value of one of SQLite's own results. */
PUBLIC int sqlite3_bind_value(sqlite3_stmt *it, int n, const sqlite3_value *value) {
  NEXT(int, bind_value, (sqlite3_stmt *, int, const sqlite3_value *));
  int (*type)(const sqlite3_value *), (*size)(const sqlite3_value *);
  const void *(*blob)(const sqlite3_value *);
  sqlite3_int64 (*integer)(const sqlite3_value *);
  double (*real)(const sqlite3_value *);
  *(void **)&type = host_find("sqlite3_value_type");
  *(void **)&size = host_find("sqlite3_value_bytes");
  *(void **)&blob = host_find("sqlite3_value_blob");
  *(void **)&integer = host_find("sqlite3_value_int64");
  *(void **)&real = host_find("sqlite3_value_double");
  int is_recorded = 0;
  switch (depth || !type || !size || !blob || !integer || !real ? -1 : type(value)) {
    case SQLITE_INTEGER:
      is_recorded = record_begin(CALL_BIND_INTEGER, it, n, integer(value), NONE);
      break;
    case SQLITE_FLOAT:
      is_recorded = record_begin(CALL_BIND_REAL, it, n, bits(real(value)), NONE);
      break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
      is_recorded = record_begin(type(value) == SQLITE_TEXT ? CALL_BIND_TEXT : CALL_BIND_BLOB, it, n,
                                 0, blob(value), (size_t)size(value));
      break;
    default:
      is_recorded = record_begin(CALL_BIND_NULL, it, n, 0, NONE);
  }
  int code = next(it, n, value);
  record_end(is_recorded, code);
  return code;
}

/* Time that the program took for itself when it was recorded. Its replay calls this. */
PUBLIC void flysch_pass(uint64_t ns) {
  struct head head = {.kind = REQUEST_PASS, .number = (int64_t)ns};
  channel_post(&head, NULL);
}
