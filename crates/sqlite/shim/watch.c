/* Which statement runs.
 *
 * SQLite says when a statement begins and ends (sqlite3_trace_v2). A call of sqlite3_step says
 * which of those that have begun goes on. A program may trace too: its function is called behind
 * the shim's. */

#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define OWN_EVENTS (SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_CLOSE)
#define DEPTH 16
#define TEXT_MAX 8192

/* A connection that the shim watches. */
struct watched {
  struct watched *next;
  struct host *host;
  sqlite3 *db;
  unsigned mask;
  int (*function)(unsigned, void *, void *, void *);
  void *argument;
  void (*old_trace)(void *, const char *);
  void *old_trace_argument;
  void (*old_profile)(void *, const char *, sqlite3_uint64);
  void *old_profile_argument;
};

/* A statement that has begun and not ended. */
struct running {
  sqlite3_stmt *statement;
  uint64_t number;
  int changes;
};

static struct watched *all;
static _Atomic uint64_t next_number = 1;
static __thread struct running stack[DEPTH];
static __thread int depth;
static __thread sqlite3_stmt *stepping;
static __thread uint64_t current;

uint64_t watch_running(void) { return current; }

static struct running *find(sqlite3_stmt *statement) {
  for (int i = depth; i-- > 0;)
    if (stack[i].statement == statement) return &stack[i];
  return NULL;
}

static void began(struct watched *watched, sqlite3_stmt *statement, const char *text) {
  if (!text || strncmp(text, "--", 2) == 0 || depth == DEPTH) return;
  if (stepping && stepping != statement) return;
  if (find(statement)) return;
  struct host *host = watched->host;
  struct running *running = &stack[depth++];
  running->statement = statement;
  running->number = atomic_fetch_add(&next_number, 1);
  running->changes = host->total_changes(watched->db);
  size_t size = strlen(text);
  struct head head = {.kind = REQUEST_BEGAN,
                      .size = (uint32_t)(size < TEXT_MAX ? size : TEXT_MAX),
                      .flags = host->get_autocommit(watched->db),
                      .offset = (int64_t)(intptr_t)watched->db,
                      .number = (int64_t)running->number};
  channel_post(&head, text);
  current = running->number;
}

static void ended(struct watched *watched, sqlite3_stmt *statement) {
  struct running *running = find(statement);
  if (!running) return;
  struct host *host = watched->host;
  struct head head = {.kind = REQUEST_ENDED,
                      .flags = host->get_autocommit(watched->db),
                      .offset = host->total_changes(watched->db) - running->changes,
                      .number = (int64_t)running->number};
  channel_post(&head, NULL);
  struct running *last = &stack[--depth];
  memmove(running, running + 1, (size_t)(last - running) * sizeof *running);
  current = depth ? stack[depth - 1].number : 0;
}

static void forget(struct watched *gone) {
  pthread_mutex_lock(&list_mutex);
  for (struct watched **at = &all; *at; at = &(*at)->next) {
    if (*at == gone) {
      *at = gone->next;
      break;
    }
  }
  pthread_mutex_unlock(&list_mutex);
  free(gone);
}

/* Call what the program registered by the older functions. */
static void tell_old(struct watched *watched, unsigned event, sqlite3_stmt *statement,
                     const void *more) {
  struct host *host = watched->host;
  if (event == SQLITE_TRACE_STMT && watched->old_trace) {
    const char *text = more;
    char *expanded = strncmp(text, "--", 2) && host->expanded_sql ? host->expanded_sql(statement)
                                                                  : NULL;
    watched->old_trace(watched->old_trace_argument, expanded ? expanded : text);
    host->free(expanded);
  } else if (event == SQLITE_TRACE_PROFILE && watched->old_profile) {
    sqlite3_uint64 ns = (sqlite3_uint64)*(const sqlite3_int64 *)more;
    watched->old_profile(watched->old_profile_argument, host->sql(statement), ns);
  }
}

static int traced(unsigned event, void *argument, void *subject, void *more) {
  struct watched *watched = argument;
  if (event == SQLITE_TRACE_STMT) began(watched, subject, more);
  if (watched->mask & event) watched->function(event, watched->argument, subject, more);
  tell_old(watched, event, subject, more);
  if (event == SQLITE_TRACE_PROFILE) ended(watched, subject);
  if (event == SQLITE_TRACE_CLOSE) forget(watched);
  return 0;
}

static struct watched *watched_of(sqlite3 *db) {
  pthread_mutex_lock(&list_mutex);
  struct watched *at = all;
  while (at && at->db != db) at = at->next;
  pthread_mutex_unlock(&list_mutex);
  return at;
}

void watch_connection(struct host *host, sqlite3 *db) {
  if (!db || record_describes || !host->trace_v2 || watched_of(db)) return;
  struct watched *watched = calloc(1, sizeof *watched);
  if (!watched) return;
  watched->host = host;
  watched->db = db;
  pthread_mutex_lock(&list_mutex);
  watched->next = all;
  all = watched;
  pthread_mutex_unlock(&list_mutex);
  host->trace_v2(db, OWN_EVENTS, traced, watched);
}

static int connected(sqlite3 *db, char **message, const void *api) {
  (void)message;
  (void)api;
  struct host *host = host_of_program();
  if (host) watch_connection(host, db);
  return SQLITE_OK;
}

/* Watch every connection that is opened from now on, whichever way it is opened. */
void watch_all(struct host *host) {
  if (host->auto_extension) host->auto_extension((void (*)(void))connected);
}

int watch_step(struct host *host, sqlite3_stmt *statement) {
  if (stepping) return host->step(statement);
  stepping = statement;
  struct running *running = find(statement);
  current = running ? running->number : 0;
  int code = host->step(statement);
  stepping = NULL;
  current = 0;
  return code;
}

PUBLIC int sqlite3_trace_v2(sqlite3 *db, unsigned mask,
                            int (*function)(unsigned, void *, void *, void *), void *argument) {
  struct host *host = host_of_program();
  struct watched *watched = watched_of(db);
  if (!watched)
    return host && host->trace_v2 ? host->trace_v2(db, mask, function, argument) : SQLITE_MISUSE;
  watched->mask = function ? mask : 0;
  watched->function = function;
  watched->argument = argument;
  return host->trace_v2(db, OWN_EVENTS | watched->mask, traced, watched);
}

PUBLIC void *sqlite3_trace(sqlite3 *db, void (*function)(void *, const char *), void *argument) {
  struct watched *watched = watched_of(db);
  if (!watched) return NULL;
  void *before = watched->old_trace_argument;
  watched->old_trace = function;
  watched->old_trace_argument = argument;
  return before;
}

PUBLIC void *sqlite3_profile(sqlite3 *db, void (*function)(void *, const char *, sqlite3_uint64),
                             void *argument) {
  struct watched *watched = watched_of(db);
  if (!watched) return NULL;
  void *before = watched->old_profile_argument;
  watched->old_profile = function;
  watched->old_profile_argument = argument;
  return before;
}
