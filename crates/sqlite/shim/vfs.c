/* The methods of sqlite3_vfs. Names, time and loading of libraries are those of SQLite's own file
 * system; files are the machine's. */

#include "shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIX_EPOCH_MS 210866760000000LL

static _Atomic uint32_t next_file = 1;

static struct host *host_of(sqlite3_vfs *vfs) { return vfs->pAppData; }

/* Whether the host would let the program make or read the database, as its own file system
 * would. The machine has no folders and no owners. */
static int allows(const char *name, int *flags) {
  struct stat found;
  /* The folders of a recording need not be there. */
  if (channel_replayed_folder()) return 1;
  if (stat(name, &found) == 0) {
    if (S_ISDIR(found.st_mode) || access(name, R_OK) != 0) return 0;
    if ((*flags & SQLITE_OPEN_READWRITE) && access(name, W_OK) != 0) {
      *flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
      *flags |= SQLITE_OPEN_READONLY;
    }
    return 1;
  }
  char folder[4096];
  size_t size = strlen(name);
  if (size >= sizeof folder) return 0;
  memcpy(folder, name, size + 1);
  char *end = strrchr(folder, '/');
  if (!end) return 1;
  *(end == folder ? end + 1 : end) = 0;
  return access(folder, X_OK) == 0 && (!(*flags & SQLITE_OPEN_CREATE) || access(folder, W_OK) == 0);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *given) {
  struct open_file *file = (struct open_file *)out;
  memset(file, 0, sizeof *file);
  if (name && (flags & SQLITE_OPEN_MAIN_DB) && !allows(name, &flags)) return SQLITE_CANTOPEN;
  file->number = atomic_fetch_add(&next_file, 1);
  struct head head = {.kind = REQUEST_OPEN, .file = file->number, .flags = flags};
  head.size = name ? (uint32_t)strlen(name) : 0;
  head.number = name != NULL;
  int32_t got = flags;
  int is_new = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_CREATE;
  int code = SQLITE_OK;
  int is_fresh = name && lease_made(name);
  if ((flags & is_new) == is_new && channel_has_room()) channel_post(&head, name);
  else code = channel_call(&head, name, &got, sizeof got);
  if (code != SQLITE_OK) return code;
  file->host = host_of(vfs);
  file->generation = channel_generation();
  file->kind = flags & 0x0fff00;
  if (flags & SQLITE_OPEN_MAIN_DB) file->name = name;
  file->powersafe = 1;
  file->is_fresh = is_fresh && (flags & SQLITE_OPEN_MAIN_JOURNAL);
  file_opened(file);
  file->base.pMethods = &file_methods;
  if (given) *given = got;
  return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
  (void)vfs;
  struct head head = {.kind = REQUEST_DELETE, .flags = sync, .size = (uint32_t)strlen(name)};
  int code = SQLITE_OK;
  if (channel_has_room() && lease_ends(name)) channel_post(&head, name);
  else code = channel_call(&head, name, NULL, 0);
  if (code == SQLITE_OK) lease_deleted(name);
  return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *found) {
  (void)vfs;
  (void)flags;
  if (foretold_exists(name, found)) return SQLITE_OK;
  int32_t exists = 0;
  struct head head = {.kind = REQUEST_EXISTS, .size = (uint32_t)strlen(name)};
  int code = channel_call(&head, name, &exists, sizeof exists);
  *found = exists;
  return code;
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int size, char *out) {
  sqlite3_vfs *base = host_of(vfs)->base;
  const char *folder = channel_replayed_folder();
  if (!folder) return base->xFullPathname(base, name, size, out);
  int wanted = name[0] == '/' ? snprintf(out, (size_t)size, "%s", name)
                              : snprintf(out, (size_t)size, "%s/%s", folder, name);
  return wanted < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *name) {
  sqlite3_vfs *base = host_of(vfs)->base;
  return base->xDlOpen ? base->xDlOpen(base, name) : NULL;
}

static void vfs_dl_error(sqlite3_vfs *vfs, int size, char *out) {
  sqlite3_vfs *base = host_of(vfs)->base;
  if (base->xDlError) base->xDlError(base, size, out);
}

static void (*vfs_dl_sym(sqlite3_vfs *vfs, void *library, const char *name))(void) {
  sqlite3_vfs *base = host_of(vfs)->base;
  return base->xDlSym(base, library, name);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *library) {
  sqlite3_vfs *base = host_of(vfs)->base;
  base->xDlClose(base, library);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out) {
  sqlite3_vfs *base = host_of(vfs)->base;
  if (!channel_is_seeded()) return base->xRandomness(base, size, out);
  struct head head = {.kind = REQUEST_RANDOM, .number = size};
  memset(out, 0, size);
  channel_call(&head, NULL, out, (uint32_t)size);
  return size;
}

/* The virtual clock advances by the time that SQLite wants to sleep. The program does sleep, so
 * that the process it waits for gets on. */
static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  sqlite3_vfs *base = host_of(vfs)->base;
  struct head head = {.kind = REQUEST_SLEEP, .number = microseconds};
  channel_call(&head, NULL, NULL, 0);
  base->xSleep(base, microseconds);
  channel_resume();
  return microseconds;
}

static int vfs_now_ms(sqlite3_vfs *vfs, sqlite3_int64 *out) {
  sqlite3_vfs *base = host_of(vfs)->base;
  int64_t fixed = channel_fixed_now();
  if (fixed >= 0) {
    *out = UNIX_EPOCH_MS + fixed;
    return SQLITE_OK;
  }
  if (base->iVersion >= 2 && base->xCurrentTimeInt64) return base->xCurrentTimeInt64(base, out);
  double days;
  int code = base->xCurrentTime(base, &days);
  *out = (sqlite3_int64)(days * 86400000.0);
  return code;
}

static int vfs_now(sqlite3_vfs *vfs, double *out) {
  sqlite3_int64 ms = 0;
  int code = vfs_now_ms(vfs, &ms);
  *out = (double)ms / 86400000.0;
  return code;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out) {
  sqlite3_vfs *base = host_of(vfs)->base;
  return base->xGetLastError ? base->xGetLastError(base, size, out) : 0;
}

/* The names that programs ask for. A name that is registered again is found first. */
static const char *const NAMES[] = {"flysch", "unix", "unix-excl", "unix-dotfile", "unix-none"};
#define NAME_COUNT (sizeof NAMES / sizeof NAMES[0])

/* Register all names, the default among them, or `flysch` alone. */
int vfs_register_all(struct host *host, int is_default) {
  static sqlite3_vfs registered[NAME_COUNT];
  host->base = host->vfs_find(NULL);
  if (!host->base) return SQLITE_ERROR;
  for (size_t i = is_default ? NAME_COUNT : 1; i-- > 0;) {
    registered[i] = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(struct open_file),
        .mxPathname = host->base->mxPathname,
        .zName = NAMES[i],
        .pAppData = host,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_pathname,
        .xDlOpen = vfs_dl_open,
        .xDlError = vfs_dl_error,
        .xDlSym = vfs_dl_sym,
        .xDlClose = vfs_dl_close,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_now,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_now_ms,
    };
    /* The default stands first, and what stood first before stands behind it. */
    int code = host->vfs_register(&registered[i], is_default);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}
