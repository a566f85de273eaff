/* What the parts of the shim share.
 *
 * The shim is loaded into a program that uses SQLite. It makes SQLite's file system calls go to
 * `flysch run` instead of the kernel. It has no SQLite of its own: it uses the one of the program.
 *
 *   channel.c   the connection to `flysch run`: requests in a ring, in a shared file
 *   host.c      the program's SQLite: finding it, and registering the file system with it
 *   vfs.c       the methods of sqlite3_vfs
 *   file.c      the methods of sqlite3_file
 *   foretold.c  what the machine told before it was asked
 *   lease.c     locks that need no answer, as nobody else has the database open
 *   watch.c     which statement runs
 *   record.c    what the program asks of SQLite, for a recording
 *   preload.c   the functions that stand before SQLite's own
 *   extension.c the shim as an extension that a program loads by itself
 *
 * Rules: nothing here ends the program, nothing is printed, and no call waits for another process
 * but `flysch run`. If that one is gone, calls fail with SQLITE_IOERR. */

#ifndef FLYSCH_SHIM_H
#define FLYSCH_SHIM_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "sqlite3.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define PUBLIC __attribute__((visibility("default")))

/* The kinds of requests. src/remote/message.rs has the same list. */
enum request {
  REQUEST_OPEN = 1,
  REQUEST_CLOSE,
  REQUEST_READ,
  REQUEST_WRITE,
  REQUEST_TRUNCATE,
  REQUEST_SYNC,
  REQUEST_SIZE,
  REQUEST_LOCK,
  REQUEST_UNLOCK,
  REQUEST_RESERVED,
  REQUEST_DELETE,
  REQUEST_EXISTS,
  REQUEST_RANDOM,
  REQUEST_SLEEP,
  REQUEST_SHM_MAP,
  REQUEST_SHM_LOCK,
  REQUEST_SHM_UNMAP,
  REQUEST_BEGAN,
  REQUEST_ENDED,
  REQUEST_CALL,
  REQUEST_PASS,
};

/* What a request of kind CALL tells. src/remote/api_event.rs has the same list. */
enum call {
  CALL_PIECE = 1, /* the beginning of a long text or blob; the rest follows */
  CALL_RESULT,
  CALL_NOTE,
  CALL_VERSION,
  CALL_SOURCE,
  CALL_OPTION,
  CALL_PRAGMA,
  CALL_OPEN,
  CALL_CLOSE,
  CALL_PREPARE,
  CALL_PREPARE16,
  CALL_STEP,
  CALL_RESET,
  CALL_FINALIZE,
  CALL_CLEAR,
  CALL_EXECUTE,
  CALL_BUSY_TIMEOUT,
  CALL_CHECKPOINT,
  CALL_AUTO_CHECKPOINT,
  CALL_BIND_NULL,
  CALL_BIND_INTEGER,
  CALL_BIND_REAL,
  CALL_BIND_TEXT,
  CALL_BIND_TEXT16,
  CALL_BIND_BLOB,
  CALL_BIND_ZEROS,
};

/* A request is this head, and then `size` bytes. Times are those of the monotonic clock. */
struct head {
  uint32_t kind;
  uint32_t size;     /* of the bytes behind the head */
  uint32_t file;     /* number of the file, which the shim gives out */
  int32_t flags;     /* flags, a lock level, or a count: as the kind has it */
  int64_t offset;
  int64_t number;    /* a size, or a second number */
  uint64_t statement; /* the statement that runs, or 0 */
  uint64_t resumed_ns; /* when the last answer was taken */
  uint64_t sent_ns;
  uint32_t is_answered;
  uint32_t unused;
};

/* channel.c */
/* Guards the lists of this process. A fork waits for it. */
HIDDEN extern pthread_mutex_t list_mutex;
HIDDEN int channel_lease_moves(uint32_t generation, uint32_t file, int from, int to);
HIDDEN int channel_call(struct head *head, const void *bytes, void *answer, uint32_t room);
HIDDEN void channel_post(struct head *head, const void *bytes);
HIDDEN int channel_has_room(void);
HIDDEN void channel_resume(void);
HIDDEN uint32_t channel_generation(void);
HIDDEN const char *channel_folder(void);
HIDDEN int channel_is_seeded(void);
HIDDEN int channel_is_recorded(void);
HIDDEN const char *channel_replayed_folder(void);
HIDDEN int64_t channel_fixed_now(void);

/* The program's SQLite. */
struct host {
  int (*open)(const char *, sqlite3 **);
  int (*open16)(const void *, sqlite3 **);
  int (*open_v2)(const char *, sqlite3 **, int, const char *);
  int (*step)(sqlite3_stmt *);
  int (*trace_v2)(sqlite3 *, unsigned, int (*)(unsigned, void *, void *, void *), void *);
  const char *(*sql)(sqlite3_stmt *);
  char *(*expanded_sql)(sqlite3_stmt *);
  sqlite3 *(*db_handle)(sqlite3_stmt *);
  int (*get_autocommit)(sqlite3 *);
  int (*total_changes)(sqlite3 *);
  void *(*malloc)(int);
  void (*free)(void *);
  int (*vfs_register)(sqlite3_vfs *, int);
  sqlite3_vfs *(*vfs_find)(const char *);
  int (*libversion_number)(void);
  int (*auto_extension)(void (*)(void));
  sqlite3_vfs *base; /* SQLite's own default file system */
};

/* host.c */
struct sqlite3_api_routines;
HIDDEN struct host *host_of_table(const struct sqlite3_api_routines *api);
HIDDEN struct host *host_ready(void);
HIDDEN struct host *host_of_program(void);
HIDDEN void *host_find(const char *name);

/* record.c */
/* The shim asks SQLite about itself. Its statements are nobody's. */
HIDDEN extern __thread int record_describes;
HIDDEN int record_begin(enum call what, const void *subject, int flags, int64_t number,
                        const void *bytes, size_t size);
HIDDEN void record_end(int is_recorded, int code);
HIDDEN int record_open(struct host *host, const char *name, int flags, const char *vfs);
HIDDEN void record_opened(int is_recorded, int code, sqlite3 *db);

/* What is known without asking: after a lock that lets a transaction begin, SQLite looks for a
 * journal and a log, reads the change counter and asks for the size. The machine does what
 * followed the lock the last time, in the same order, and tells with the lock. */
enum known { KNOWN_JOURNAL = 1, KNOWN_COUNTER = 2, KNOWN_LOG = 4, KNOWN_SIZE = 8 };

struct foretold {
  int32_t level;
  uint32_t known;
  int32_t has_journal;
  int32_t has_log;
  int64_t size;
  unsigned char counter[16];
  uint32_t is_leased;
  uint32_t unused;
};

#define COUNTER_AT 24

/* file.c */
struct open_file {
  sqlite3_file base;
  struct host *host;
  uint32_t number;
  uint32_t generation;
  int kind;
  int lock;
  const char *name;
  int persists_wal;
  int powersafe;
  int64_t mmap_size;
  int region_count;
  void **regions;
  int is_fresh;   /* a journal that was not there before */
  int64_t end;    /* of what was written to it */
  int is_leased;
  struct foretold memo; /* what is known of the database, as long as it is leased */
  _Atomic uint32_t known; /* which of it: other connections may end that */
  uint32_t uses; /* requests about it so far */
  struct open_file *next_database;
};
HIDDEN void file_opened(struct open_file *file);
HIDDEN extern const sqlite3_io_methods file_methods;

HIDDEN uint32_t foretold_ask(struct open_file *file);
HIDDEN void foretold_keep(struct open_file *file, const struct foretold *answer);
HIDDEN void foretold_end(void);
HIDDEN int foretold_counter(struct open_file *file, void *out, int size, int64_t offset);
HIDDEN int foretold_size(struct open_file *file, sqlite3_int64 *out);
HIDDEN int foretold_exists(const char *name, int *out);

/* lease.c */
HIDDEN void lease_opened(struct open_file *file);
HIDDEN void lease_closed(struct open_file *file);
HIDDEN void lease_told(struct open_file *file, const struct foretold *answer);
HIDDEN int lease_raises(struct open_file *file, int level);
HIDDEN int lease_lowers(struct open_file *file, int level);
HIDDEN void lease_wrote(struct open_file *file, const void *bytes, int size, int64_t offset);
HIDDEN void lease_truncated(struct open_file *file, int64_t size);
HIDDEN int lease_made(const char *name);
HIDDEN int lease_ends(const char *name);
HIDDEN void lease_deleted(const char *name);
HIDDEN void lease_doubt(void);
HIDDEN void lease_forget(void);

/* vfs.c */
HIDDEN int vfs_register_all(struct host *host, int is_default);

/* watch.c */
HIDDEN uint64_t watch_running(void);
HIDDEN void watch_connection(struct host *host, sqlite3 *db);
HIDDEN void watch_all(struct host *host);
HIDDEN int watch_step(struct host *host, sqlite3_stmt *statement);

#endif
