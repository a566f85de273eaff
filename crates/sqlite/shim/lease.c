/* Locks that need no answer.
 *
 * As long as one connection alone has a database open, each lock that it wants is granted, and
 * nobody else changes the database. `flysch run` then leases it the database: it sets a word that
 * both map. The connection raises and lowers its lock in this word, and goes on. The requests
 * follow in the ring, so that the machine does the same in the same order.
 *
 *   0   not leased
 *   n   leased: the number of the file, and in the lowest 3 bits one more than the lock level
 *
 * Files may share a word. One of them has it at a time.
 *
 * When somebody else opens the database, `flysch run` takes the word, and what it finds there is
 * the lock that the connection holds. From then on the connection has to ask.
 *
 * With a lock go the answers to what SQLite asks for after it (foretold.c). Here they are those
 * that the connection knows from its own writes. They go into the ring with the lock. A machine
 * that finds others reports an error with its next answer. */

#include "shim.h"

#include <stdatomic.h>
#include <string.h>

/* The open databases of this process. */
static struct open_file *databases;

void lease_opened(struct open_file *file) {
  pthread_mutex_lock(&list_mutex);
  file->next_database = databases;
  databases = file;
  pthread_mutex_unlock(&list_mutex);
}

void lease_closed(struct open_file *file) {
  pthread_mutex_lock(&list_mutex);
  struct open_file **at = &databases;
  while (*at && *at != file) at = &(*at)->next_database;
  if (*at) *at = file->next_database;
  pthread_mutex_unlock(&list_mutex);
}

/* A child has begun. The files of its parent are not its own. */
void lease_forget(void) { databases = NULL; }

/* The machine has answered a request for a lock. */
void lease_told(struct open_file *file, const struct foretold *answer) {
  file->is_leased = answer->is_leased != 0;
  file->memo = *answer;
  uint32_t known = answer->known;
  /* What is there may change without this connection: a journal that is hot, a log. */
  if (answer->has_journal) known &= ~(uint32_t)KNOWN_JOURNAL;
  if (answer->has_log) known &= ~(uint32_t)KNOWN_LOG;
  atomic_store(&file->known, known);
}

/* Change the lock in the word. Returns whether the database is still leased. */
static int moves(struct open_file *file, int level) {
  if (!file->is_leased) return 0;
  file->is_leased = channel_lease_moves(file->generation, file->number, file->lock, level);
  return file->is_leased;
}

/* Raise the lock without an answer, if that is possible. */
int lease_raises(struct open_file *file, int level) {
  uint32_t wanted = level == SQLITE_LOCK_SHARED ? foretold_ask(file) : 0;
  if ((wanted & ~atomic_load(&file->known)) || !moves(file, level)) return 0;
  struct foretold told = file->memo;
  told.known = wanted;
  struct head head = {.kind = REQUEST_LOCK,
                      .size = wanted ? sizeof told : 0,
                      .file = file->number,
                      .flags = level,
                      .number = wanted};
  channel_post(&head, &told);
  file->lock = level;
  if (level == SQLITE_LOCK_SHARED) foretold_keep(file, &told);
  return 1;
}

/* Lower the lock. Returns whether the word tells so. */
int lease_lowers(struct open_file *file, int level) { return moves(file, level); }

/* The connection has written to its database. */
void lease_wrote(struct open_file *file, const void *bytes, int size, int64_t offset) {
  const int64_t counter_end = COUNTER_AT + (int64_t)sizeof file->memo.counter;
  struct foretold *memo = &file->memo;
  if (offset + size > memo->size) memo->size = offset + size;
  if (offset <= COUNTER_AT && offset + size >= counter_end) {
    memcpy(memo->counter, (const char *)bytes + (COUNTER_AT - offset), sizeof memo->counter);
  } else if (offset < counter_end && offset + size > COUNTER_AT) {
    atomic_fetch_and(&file->known, ~(uint32_t)KNOWN_COUNTER);
  }
}

void lease_truncated(struct open_file *file, int64_t size) {
  file->memo.size = size;
  if (size < COUNTER_AT + (int64_t)sizeof file->memo.counter)
    atomic_fetch_and(&file->known, ~(uint32_t)KNOWN_COUNTER);
}

/* Which of a database's files this is. */
static uint32_t part_of(const struct open_file *file, const char *name) {
  size_t size = strlen(file->name);
  if (strncmp(name, file->name, size) != 0) return 0;
  if (strcmp(name + size, "-journal") == 0) return KNOWN_JOURNAL;
  return strcmp(name + size, "-wal") == 0 ? KNOWN_LOG : 0;
}

/* A file may be there from now on. Returns whether it is known that it was not there. */
int lease_made(const char *name) {
  int is_fresh = 0;
  pthread_mutex_lock(&list_mutex);
  for (struct open_file *at = databases; at; at = at->next_database) {
    uint32_t part = part_of(at, name);
    is_fresh |= at->is_leased && at->lock > SQLITE_LOCK_SHARED && (atomic_load(&at->known) & part);
    atomic_fetch_and(&at->known, ~part);
  }
  pthread_mutex_unlock(&list_mutex);
  return is_fresh;
}

/* Whether a file is the journal of a transaction that ends. */
int lease_ends(const char *name) {
  int ends = 0;
  pthread_mutex_lock(&list_mutex);
  for (struct open_file *at = databases; at; at = at->next_database)
    ends |= at->lock == SQLITE_LOCK_EXCLUSIVE && part_of(at, name) == KNOWN_JOURNAL;
  pthread_mutex_unlock(&list_mutex);
  return ends;
}

/* A file is gone. Only the connection that it belongs to makes it again. */
void lease_deleted(const char *name) {
  pthread_mutex_lock(&list_mutex);
  for (struct open_file *at = databases; at; at = at->next_database) {
    uint32_t part = at->is_leased ? part_of(at, name) : 0;
    atomic_fetch_or(&at->known, part);
    if (part & KNOWN_JOURNAL) at->memo.has_journal = 0;
    if (part & KNOWN_LOG) at->memo.has_log = 0;
  }
  pthread_mutex_unlock(&list_mutex);
}

/* Something went wrong: the machine may not have done what was asked of it. */
void lease_doubt(void) {
  pthread_mutex_lock(&list_mutex);
  for (struct open_file *at = databases; at; at = at->next_database) atomic_store(&at->known, 0);
  pthread_mutex_unlock(&list_mutex);
}
