/* The connection of this process to `flysch run`.
 *
 * Requests and answers lie in a file that both map or read: the first page has the words below,
 * then comes a request, then an answer. Whose turn it is, is one word. A side that waits looks at
 * the word for a while, then sleeps in the socket until the other side sends a byte.
 *
 *   word 0   turn: 0 the program's, 1 that of `flysch run`
 *   word 1   the program sleeps
 *   word 2   `flysch run` sleeps
 *   word 3   rounds to look at the word before sleeping
 *   word 4   1: random numbers are the machine's
 *   word 6,7 the time to answer, milliseconds since 1970; -1: the host's */

#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_AT 4096
#define REQUEST_ROOM (160 << 10)
#define ANSWER_AT (REQUEST_AT + REQUEST_ROOM)
#define ANSWER_ROOM (80 << 10)
#define CHANNEL_SIZE (ANSWER_AT + ANSWER_ROOM)
#define SERVED 1u
#define WAITS_BETWEEN 64

struct answer {
  int32_t code;
  uint32_t size;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t generation = 1;
static int is_broken;
static int socket_fd = -1;
static unsigned char *memory;
static char folder[80];

static _Atomic uint32_t *word(int which) { return (_Atomic uint32_t *)memory + which; }

uint32_t channel_generation(void) { return atomic_load(&generation); }
const char *channel_folder(void) { return folder; }

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork_parent(void) { pthread_mutex_unlock(&mutex); }

/* The child connects anew. The files of the parent are not its own. */
static void after_fork_child(void) {
  pthread_mutex_init(&mutex, NULL);
  atomic_fetch_add(&generation, 1);
  if (memory) munmap(memory, CHANNEL_SIZE);
  if (socket_fd >= 0) close(socket_fd);
  memory = NULL;
  socket_fd = -1;
  is_broken = 0;
}

/* Receive the name of the channel's file, which `flysch run` sends at once. */
static int map_channel(void) {
  char name[64];
  size_t have = 0;
  while (have < sizeof name - 1) {
    ssize_t got = recv(socket_fd, name + have, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    if (name[have] == '\n') break;
    have++;
  }
  name[have] = 0;
  char path[160];
  size_t folder_len = strlen(folder);
  memcpy(path, folder, folder_len);
  path[folder_len] = '/';
  memcpy(path + folder_len + 1, name, have + 1);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  void *mapped = mmap(NULL, CHANNEL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return 0;
  memory = mapped;
  return 1;
}

static int connect_once(void) {
  static int has_fork_handlers;
  const char *given = getenv("FLYSCH_RUN");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!given || strlen(given) >= sizeof folder || strlen(given) + 8 > sizeof address.sun_path)
    return 0;
  strcpy(folder, given);
  strcpy(address.sun_path, given);
  strcat(address.sun_path, "/socket");
  socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return 0;
  if (!has_fork_handlers) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    has_fork_handlers = 1;
  }
  return connect(socket_fd, (struct sockaddr *)&address, sizeof address) == 0 && map_channel();
}

static int is_connected(void) {
  if (memory) return !is_broken;
  if (is_broken) return 0;
  is_broken = !connect_once();
  return !is_broken;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Look at the turn for some rounds. Where looking was in vain, as on a busy machine, the next wait
 * looks for a quarter of the time, and only one in many tries all of it again. */
static int look(void) {
  static uint32_t rounds, waits;
  uint32_t most = atomic_load(word(3));
  if (waits++ % WAITS_BETWEEN == 0) rounds = most;
  for (uint32_t i = 0; i <= rounds; i++) {
    if (atomic_load(word(0)) != SERVED) {
      if (i > 0) rounds = most;
      return 1;
    }
    relax();
  }
  rounds /= 4;
  return 0;
}

/* Wait until it is the program's turn. */
static int wait_turn(void) {
  if (look()) return 1;
  for (;;) {
    atomic_store(word(1), 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(word(0)) != SERVED) break;
    char byte;
    ssize_t got = recv(socket_fd, &byte, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      is_broken = 1;
      return 0;
    }
  }
  atomic_store(word(1), 0);
  return 1;
}

static int send_request(struct head *head, const void *bytes) {
  if (!is_connected() || head->size > REQUEST_ROOM - sizeof *head || !wait_turn()) return 0;
  head->statement = watch_running();
  memcpy(memory + REQUEST_AT, head, sizeof *head);
  if (head->size) memcpy(memory + REQUEST_AT + sizeof *head, bytes, head->size);
  atomic_store(word(0), SERVED);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load(word(2))) {
    while (send(socket_fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }
  return 1;
}

/* Make a request and wait for its answer. */
int channel_call(struct head *head, const void *bytes, void *answer, uint32_t room) {
  int saved = errno;
  int code = SQLITE_IOERR;
  pthread_mutex_lock(&mutex);
  if (send_request(head, bytes) && wait_turn()) {
    struct answer *found = (struct answer *)(memory + ANSWER_AT);
    code = found->code;
    uint32_t size = found->size < room ? found->size : room;
    if (size && size <= ANSWER_ROOM - sizeof *found) memcpy(answer, found + 1, size);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return code;
}

/* Make a request that has no answer. */
void channel_post(struct head *head, const void *bytes) {
  int saved = errno;
  pthread_mutex_lock(&mutex);
  send_request(head, bytes);
  pthread_mutex_unlock(&mutex);
  errno = saved;
}

int channel_is_seeded(void) {
  pthread_mutex_lock(&mutex);
  int seeded = is_connected() && atomic_load(word(4)) == 1;
  pthread_mutex_unlock(&mutex);
  return seeded;
}

int64_t channel_fixed_now(void) {
  int64_t now = -1;
  pthread_mutex_lock(&mutex);
  if (is_connected()) memcpy(&now, memory + 24, sizeof now);
  pthread_mutex_unlock(&mutex);
  return now;
}
