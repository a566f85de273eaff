/* The methods of sqlite3_file: each is a request. */

#include "shim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART_MAX 65536 /* bytes of a request or an answer: SQLite's largest page */
#define SECTOR_SIZE 4096 /* what SQLite's own file system says on Linux */

static struct open_file *of(sqlite3_file *file) { return (struct open_file *)file; }

/* A file that was opened before a fork is not the child's. */
static int is_own(struct open_file *file) { return file->generation == channel_generation(); }

static int ask(struct open_file *file, struct head *head, const void *bytes, void *out,
               uint32_t room) {
  head->file = file->number;
  file->uses++;
  return is_own(file) ? channel_call(head, bytes, out, room) : SQLITE_IOERR;
}

static void tell(struct open_file *file, struct head *head, const void *bytes) {
  head->file = file->number;
  file->uses++;
  if (is_own(file)) channel_post(head, bytes);
}

static void unmap(struct open_file *file) {
  for (int i = 0; i < file->region_count; i++)
    if (file->regions[i]) munmap(file->regions[i], 32768);
  free(file->regions);
  file->regions = NULL;
  file->region_count = 0;
}

static int file_close(sqlite3_file *base) {
  struct open_file *file = of(base);
  struct head head = {.kind = REQUEST_CLOSE};
  tell(file, &head, NULL);
  lease_closed(file);
  unmap(file);
  return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *out, int size, sqlite3_int64 offset) {
  char *bytes = out;
  if (foretold_counter(of(base), out, size, offset)) return SQLITE_OK;
  memset(out, 0, (size_t)size);
  if (of(base)->is_fresh && offset >= of(base)->end && size <= PART_MAX) {
    /* SQLite looks for an old header behind its journal. There is nothing. */
    struct head head = {.kind = REQUEST_READ, .number = size, .offset = offset};
    tell(of(base), &head, NULL);
    return SQLITE_IOERR_SHORT_READ;
  }
  while (size > 0) {
    int part = size > PART_MAX ? PART_MAX : size;
    struct head head = {.kind = REQUEST_READ, .number = part, .offset = offset};
    int code = ask(of(base), &head, NULL, bytes, (uint32_t)part);
    if (code != SQLITE_OK) return code;
    bytes += part, size -= part, offset += part;
  }
  return SQLITE_OK;
}

/* A change needs no answer where there is room for it, as it cannot fail then. Elsewhere SQLite
 * waits: what it does after a failure depends on which request failed, so no other one may tell. */
static int change(struct open_file *file, struct head *head, const void *bytes) {
  if (!channel_has_room()) return ask(file, head, bytes, NULL, 0);
  tell(file, head, bytes);
  return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset) {
  struct open_file *file = of(base);
  const char *bytes = data;
  while (size > 0) {
    int part = size > PART_MAX ? PART_MAX : size;
    struct head head = {.kind = REQUEST_WRITE, .size = (uint32_t)part, .offset = offset};
    /* A write that fails may have written a part. */
    if (offset + part > file->end) file->end = offset + part;
    int code = change(file, &head, bytes);
    if (code != SQLITE_OK) return code;
    lease_wrote(file, bytes, part, offset);
    bytes += part, size -= part, offset += part;
  }
  return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
  struct head head = {.kind = REQUEST_TRUNCATE, .number = size};
  int code = change(of(base), &head, NULL);
  if (code == SQLITE_OK) lease_truncated(of(base), size);
  return code;
}

static int file_sync(sqlite3_file *base, int flags) {
  struct head head = {.kind = REQUEST_SYNC, .flags = flags};
  return change(of(base), &head, NULL);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *out) {
  if (foretold_size(of(base), out)) return SQLITE_OK;
  struct head head = {.kind = REQUEST_SIZE};
  return ask(of(base), &head, NULL, out, sizeof *out);
}

static int file_lock(sqlite3_file *base, int level) {
  struct open_file *file = of(base);
  if (file->lock >= level || lease_raises(file, level)) return SQLITE_OK;
  struct foretold answer = {.level = file->lock};
  int begins = level == SQLITE_LOCK_SHARED && file->name;
  struct head head = {.kind = REQUEST_LOCK, .flags = level};
  if (begins) head.number = foretold_ask(file);
  int code = ask(file, &head, NULL, &answer, sizeof answer);
  file->lock = answer.level;
  lease_told(file, &answer);
  if (begins && code == SQLITE_OK) foretold_keep(file, &answer);
  return code;
}

static int file_unlock(sqlite3_file *base, int level) {
  struct open_file *file = of(base);
  if (file->lock <= level) return SQLITE_OK;
  struct head head = {
      .kind = REQUEST_UNLOCK, .flags = level, .number = lease_lowers(file, level)};
  tell(file, &head, NULL);
  file->lock = level;
  return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *out) {
  struct head head = {.kind = REQUEST_RESERVED};
  int32_t reserved = 0;
  int code = ask(of(base), &head, NULL, &reserved, sizeof reserved);
  *out = reserved;
  return code;
}

/* A setting that is asked for by a negative number. */
static void flag(int *setting, int *argument) {
  if (*argument < 0) *argument = *setting;
  else *setting = *argument != 0;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
  struct open_file *file = of(base);
  switch (operation) {
    case SQLITE_FCNTL_LOCKSTATE:
      *(int *)argument = file->lock;
      return SQLITE_OK;
    case SQLITE_FCNTL_PERSIST_WAL:
      flag(&file->persists_wal, argument);
      return SQLITE_OK;
    case SQLITE_FCNTL_POWERSAFE_OVERWRITE:
      flag(&file->powersafe, argument);
      return SQLITE_OK;
    case SQLITE_FCNTL_HAS_MOVED:
      *(int *)argument = 0;
      return SQLITE_OK;
    case SQLITE_FCNTL_MMAP_SIZE: {
      /* It is told as it was set, although nothing is mapped. */
      sqlite3_int64 size = *(sqlite3_int64 *)argument;
      *(sqlite3_int64 *)argument = file->mmap_size;
      if (size >= 0) file->mmap_size = size;
      return SQLITE_OK;
    }
    case SQLITE_FCNTL_SIZE_HINT:
    case SQLITE_FCNTL_CHUNK_SIZE:
      return SQLITE_OK;
    case SQLITE_FCNTL_VFSNAME: {
      char *name = file->host->malloc(7);
      if (name) memcpy(name, "flysch", 7);
      *(char **)argument = name;
      return name ? SQLITE_OK : SQLITE_NOMEM;
    }
    default:
      return SQLITE_NOTFOUND;
  }
}

static int file_sector_size(sqlite3_file *base) {
  (void)base;
  return SECTOR_SIZE;
}

static int file_characteristics(sqlite3_file *base) {
  return of(base)->powersafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
}

/* The answer to a mapping: which file of the folder holds the regions. 0: no region yet. */
struct mapping {
  uint32_t file;
};

static int map_region(struct open_file *file, int region, int size, uint32_t which) {
  char path[160], digits[12];
  int count = 0, at = 0;
  const char *folder = channel_folder();
  do digits[count++] = (char)('0' + which % 10);
  while (which /= 10);
  for (; folder[at]; at++) path[at] = folder[at];
  memcpy(path + at, "/wal-index-", 11);
  at += 11;
  while (count) path[at++] = digits[--count];
  path[at] = 0;
  if (region >= file->region_count) {
    void **grown = realloc(file->regions, sizeof(void *) * (size_t)(region + 1));
    if (!grown) return SQLITE_NOMEM;
    for (int i = file->region_count; i <= region; i++) grown[i] = NULL;
    file->regions = grown;
    file->region_count = region + 1;
  }
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return SQLITE_IOERR_SHMOPEN;
  void *mapped =
      mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)region * size);
  close(fd);
  if (mapped == MAP_FAILED) return SQLITE_IOERR_SHMMAP;
  file->regions[region] = mapped;
  return SQLITE_OK;
}

static int file_shm_map(sqlite3_file *base, int region, int size, int extend,
                        void volatile **out) {
  struct open_file *file = of(base);
  *out = NULL;
  if (region >= file->region_count || !file->regions[region]) {
    struct head head = {
        .kind = REQUEST_SHM_MAP, .flags = extend, .offset = region, .number = size};
    struct mapping mapping = {0};
    int code = ask(file, &head, NULL, &mapping, sizeof mapping);
    if (code != SQLITE_OK || !mapping.file) return code;
    code = map_region(file, region, size, mapping.file);
    if (code != SQLITE_OK) return code;
  }
  *out = file->regions[region];
  return SQLITE_OK;
}

static int file_shm_lock(sqlite3_file *base, int first, int count, int flags) {
  struct head head = {
      .kind = REQUEST_SHM_LOCK, .flags = flags, .offset = first, .number = count};
  if (flags & SQLITE_SHM_UNLOCK) {
    tell(of(base), &head, NULL);
    return SQLITE_OK;
  }
  return ask(of(base), &head, NULL, NULL, 0);
}

static void file_shm_barrier(sqlite3_file *base) {
  (void)base;
  __sync_synchronize();
}

static int file_shm_unmap(sqlite3_file *base, int remove) {
  struct open_file *file = of(base);
  struct head head = {.kind = REQUEST_SHM_UNMAP, .flags = remove};
  tell(file, &head, NULL);
  unmap(file);
  return SQLITE_OK;
}

/* Nothing is mapped: SQLite then reads. */
static int file_fetch(sqlite3_file *base, sqlite3_int64 offset, int size, void **out) {
  (void)base, (void)offset, (void)size;
  *out = NULL;
  return SQLITE_OK;
}

static int file_unfetch(sqlite3_file *base, sqlite3_int64 offset, void *page) {
  (void)base, (void)offset, (void)page;
  return SQLITE_OK;
}

void file_opened(struct open_file *file) {
  if (file->name) lease_opened(file);
}

const sqlite3_io_methods file_methods = {
    .iVersion = 3,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
    .xFetch = file_fetch,
    .xUnfetch = file_unfetch,
};
