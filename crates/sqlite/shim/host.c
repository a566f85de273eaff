/* The program's SQLite, which may be loaded for one module alone. */

#define SQLITE_CORE 1
#include "shim.h"
#include "sqlite3ext.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#define OLDEST 3022000

static struct host program;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_found;
static int is_registered;
static void *own_library; /* NULL if it is one that comes after the shim */

/* Look a function up in the library of `library`, or in what comes after the shim. */
static void *find(void *library, const char *name) {
  return dlsym(library ? library : RTLD_NEXT, name);
}

static int fill(void *library) {
#define FIND(field, name) *(void **)&program.field = find(library, "sqlite3_" name)
  FIND(open, "open");
  FIND(open16, "open16");
  FIND(open_v2, "open_v2");
  FIND(step, "step");
  FIND(trace_v2, "trace_v2");
  FIND(sql, "sql");
  FIND(expanded_sql, "expanded_sql");
  FIND(db_handle, "db_handle");
  FIND(get_autocommit, "get_autocommit");
  FIND(total_changes, "total_changes");
  FIND(malloc, "malloc");
  FIND(free, "free");
  FIND(vfs_register, "vfs_register");
  FIND(vfs_find, "vfs_find");
  FIND(libversion_number, "libversion_number");
  FIND(auto_extension, "auto_extension");
#undef FIND
  return program.open && program.open16 && program.open_v2 && program.step && program.sql &&
         program.db_handle && program.get_autocommit && program.total_changes && program.malloc &&
         program.free && program.vfs_register && program.vfs_find && program.libversion_number;
}

/* Whether one loaded object has SQLite, or needs a library that has it. */
static int examine(struct dl_phdr_info *object, size_t size, void *found) {
  (void)size;
  if (!object->dlpi_name || !object->dlpi_name[0]) return 0;
  void *library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  void *there = dlsym(library, "sqlite3_open_v2");
  if (there && there != (void *)sqlite3_open_v2) {
    *(void **)found = library;
    return 1;
  }
  dlclose(library);
  return 0;
}

static int search(void) {
  if (fill(NULL)) return 1;
  void *library = NULL;
  dl_iterate_phdr(examine, &library);
  own_library = library;
  return library && fill(library);
}

/* A function of the program's SQLite. */
void *host_find(const char *name) {
  if (!host_of_program()) return NULL;
  return find(own_library, name);
}

/* The SQLite that has loaded the shim as an extension, with the file system `flysch` registered;
 * NULL if it is too old. The default file system stays what it is. */
struct host *host_of_table(const struct sqlite3_api_routines *api) {
  if (api->libversion_number() < OLDEST) return NULL;
  pthread_mutex_lock(&mutex);
  if (!is_registered) {
    program = (struct host){
        .open = api->open,
        .open16 = api->open16,
        .open_v2 = api->open_v2,
        .step = api->step,
        .trace_v2 = api->trace_v2,
        .sql = api->sql,
        .expanded_sql = api->expanded_sql,
        .db_handle = api->db_handle,
        .get_autocommit = api->get_autocommit,
        .total_changes = api->total_changes,
        .malloc = api->malloc,
        .free = api->free,
        .vfs_register = api->vfs_register,
        .vfs_find = api->vfs_find,
        .libversion_number = api->libversion_number,
        .auto_extension = api->auto_extension,
    };
    is_found = is_registered = 1;
    vfs_register_all(&program, 0);
  }
  pthread_mutex_unlock(&mutex);
  return &program;
}

/* The program's SQLite, or NULL if none is loaded. */
struct host *host_of_program(void) {
  pthread_mutex_lock(&mutex);
  if (!is_found) is_found = search();
  pthread_mutex_unlock(&mutex);
  return is_found ? &program : NULL;
}

/* The program's SQLite with the file system registered. */
struct host *host_ready(void) {
  struct host *host = host_of_program();
  if (!host) return NULL;
  pthread_mutex_lock(&mutex);
  if (!is_registered) {
    is_registered = 1;
    if (host->libversion_number() >= OLDEST) vfs_register_all(host, 1);
  }
  pthread_mutex_unlock(&mutex);
  return host;
}
