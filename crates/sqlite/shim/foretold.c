/* What the machine told before it was asked, for the file that this thread locked last. Any other
 * request ends it, as it may change what was told. */

#include "shim.h"

#include <string.h>

#define NAME_ROOM 512

static __thread struct {
  uint32_t number;     /* of the file; 0: none */
  uint32_t generation;
  uint32_t followed;   /* what SQLite asked for after the lock */
  int follows;         /* nothing else was asked for since */
  uint32_t uses;       /* of the file: another thread may have used its connection since */
  size_t name_size;
  char name[NAME_ROOM];
  struct foretold told;
} last;

static int is_last(struct open_file *file) {
  return last.follows && last.number == file->number && last.generation == file->generation &&
         last.uses == file->uses;
}

/* Note that SQLite asks for something. Returns whether it is known. */
static int takes(uint32_t what) {
  int is_known = (last.told.known & what) != 0;
  last.told.known &= ~what;
  last.followed |= what;
  return is_known;
}

/* What to ask for together with a lock. */
uint32_t foretold_ask(struct open_file *file) {
  int is_same = last.number == file->number && last.generation == file->generation;
  return is_same ? last.followed : 0;
}

void foretold_keep(struct open_file *file, const struct foretold *answer) {
  size_t size = file->name ? strlen(file->name) : NAME_ROOM;
  if (size >= NAME_ROOM) return;
  last.number = file->number;
  last.generation = file->generation;
  last.followed = 0;
  last.follows = 1;
  last.uses = file->uses;
  last.name_size = size;
  memcpy(last.name, file->name, size + 1);
  last.told = *answer;
}

void foretold_end(void) { last.follows = 0; }

int foretold_counter(struct open_file *file, void *out, int size, int64_t offset) {
  if (!is_last(file) || offset != COUNTER_AT || size != (int)sizeof last.told.counter) return 0;
  if (!takes(KNOWN_COUNTER)) return 0;
  memcpy(out, last.told.counter, sizeof last.told.counter);
  return 1;
}

int foretold_size(struct open_file *file, sqlite3_int64 *out) {
  if (!is_last(file) || !takes(KNOWN_SIZE)) return 0;
  *out = last.told.size;
  return 1;
}

int foretold_exists(const char *name, int *out) {
  if (!last.follows || strncmp(name, last.name, last.name_size) != 0) return 0;
  const char *end = name + last.name_size;
  if (strcmp(end, "-journal") == 0) {
    *out = last.told.has_journal;
    return takes(KNOWN_JOURNAL);
  }
  if (strcmp(end, "-wal") == 0) {
    *out = last.told.has_log;
    return takes(KNOWN_LOG);
  }
  return 0;
}
