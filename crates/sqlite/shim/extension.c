/* The shim as an extension that a program loads by itself: `.load`, `load_extension`. It adds the
 * file system `flysch` for names like `file:x.db?vfs=flysch`, and leaves the default as it is.
 *
 * Without `flysch run` there is no machine yet. The shim then starts one, which lives until the
 * last process has gone that uses it. Which program to start stands at the end of this library's
 * own file, where `flysch extension` wrote it. The variable FLYSCH_OPTIONS has its options. */

#define SQLITE_CORE 1
#include "shim.h"
#include "sqlite3ext.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define PATH_ROOM 4096

static const char MARK[] = "\nflysch at ";

/* Find the program that wrote this library. */
static void find_program(char *out) {
  Dl_info self;
  char tail[PATH_ROOM];
  strcpy(out, "flysch");
  if (!dladdr((void *)MARK, &self) || !self.dli_fname) return;
  int fd = open(self.dli_fname, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  off_t size = lseek(fd, 0, SEEK_END);
  off_t begin = size > PATH_ROOM ? size - PATH_ROOM : 0;
  ssize_t got = pread(fd, tail, sizeof tail, begin);
  close(fd);
  size_t mark = sizeof MARK - 1;
  for (ssize_t at = got - (ssize_t)mark; at >= 0; at--) {
    if (memcmp(tail + at, MARK, mark) != 0) continue;
    size_t len = (size_t)got - (size_t)at - mark;
    memcpy(out, tail + at + mark, len);
    out[len] = 0;
    return;
  }
}

/* In a process of its own: become the machine. Its output is the name of its folder. */
static void become_machine(char *program, int output) {
  char *words[WORDS_MAX + 4] = {program, "run", "--serve"};
  int count = 3;
  char *options = getenv("FLYSCH_OPTIONS");
  options = options ? strdup(options) : NULL;
  for (char *word = options ? strtok(options, " ") : NULL; word && count < WORDS_MAX;
       word = strtok(NULL, " "))
    words[count++] = word;
  setsid();
  unsetenv("LD_PRELOAD");
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  execvp(program, words);
  _exit(127);
}

/* Start a machine that is no child of the program. Returns whether it runs. */
static int start_machine(void) {
  char program[PATH_ROOM + 1], name[256];
  int ends[2], status;
  find_program(program);
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) become_machine(program, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  if (child > 0) waitpid(child, &status, 0);
  size_t have = 0;
  ssize_t got;
  while (have < sizeof name - 1 && (got = read(ends[0], name + have, 1)) == 1 && name[have] != '\n')
    have++;
  close(ends[0]);
  name[have] = 0;
  return have > 0 && setenv("FLYSCH_RUN", name, 1) == 0;
}

PUBLIC int sqlite3_extension_init(sqlite3 *db, char **message,
                                  const struct sqlite3_api_routines *api) {
  if (!getenv("FLYSCH_RUN") && !start_machine()) {
    *message = api->mprintf("flysch: the simulated machine cannot be started");
    return SQLITE_ERROR;
  }
  struct host *host = host_of_table(api);
  if (!host) {
    *message = api->mprintf("flysch: SQLite 3.22 or newer is needed");
    return SQLITE_ERROR;
  }
  /* The machine waits for its first visitor. */
  channel_is_seeded();
  watch_connection(host, db);
  watch_all(host);
  return SQLITE_OK_LOAD_PERMANENTLY;
}
