/* The connection of this process to `flysch run`.
 *
 * Requests lie in a ring in a file that both map. A request that has no answer stays there until
 * `flysch run` comes by. For one that has, the program waits. A side that waits looks at the words
 * below for a while, then sleeps: the program on word 3, `flysch run` on the socket.
 *
 *   word 0   bytes of requests that were put into the ring so far
 *   word 1   bytes of requests that were taken out so far
 *   word 2   number of answers so far
 *   word 3   changes when a program that sleeps is to look again
 *   word 4   the program sleeps: 1 until there is an answer, 2 until there is room
 *   word 5   `flysch run` sleeps
 *   word 6   rounds to look at a word before sleeping
 *   word 7   1: random numbers are the machine's
 *   word 8,9 the time to answer, milliseconds since 1970; -1: the host's
 *   word 10  1: what the program asks of SQLite is recorded
 *   word 11  1: the medium has room for all that fits into the ring, many times
 *   word 256 to 511   the leases: see lease.c
 *
 * The answer lies behind the words, and the ring behind the answer. A request lies in the ring in
 * one piece. A head of kind 0 fills what is left at the end of the ring. */

#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_AT 4096
#define ANSWER_ROOM (80 << 10)
#define RING_AT (96 << 10)
#define RING_SIZE (1024u << 10)
#define CHANNEL_SIZE (RING_AT + RING_SIZE)
/* Bytes of requests for which `flysch run` is woken. */
#define MUCH (RING_SIZE / 4)
#define WAITS_BETWEEN 64
#define SLEEP_NS 200000000

enum word {
  PUT,
  TAKEN,
  ANSWERS,
  BEAT,
  PROGRAM_SLEEPS,
  SERVER_SLEEPS,
  ROUNDS,
  SEEDED,
  NOW,
  RECORDED = 10,
  ROOM,
};

struct answer {
  int32_t code;
  uint32_t size;
};

#define LEASES_AT 256
#define LEASE_COUNT 256

pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t generation = 1;
static int is_broken;
static int socket_fd = -1;
static unsigned char *memory;
static char folder[80];
static uint32_t put, answers;
static uint64_t resumed_ns;

static _Atomic uint32_t *word(enum word which) { return (_Atomic uint32_t *)memory + which; }

uint32_t channel_generation(void) { return atomic_load(&generation); }
const char *channel_folder(void) { return folder; }

static void before_fork(void) {
  pthread_mutex_lock(&list_mutex);
  pthread_mutex_lock(&mutex);
}

static void after_fork_parent(void) {
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&list_mutex);
}

/* The child connects anew. The files of the parent are not its own. */
static void after_fork_child(void) {
  pthread_mutex_init(&list_mutex, NULL);
  pthread_mutex_init(&mutex, NULL);
  lease_forget();
  atomic_fetch_add(&generation, 1);
  if (memory) munmap(memory, CHANNEL_SIZE);
  if (socket_fd >= 0) close(socket_fd);
  memory = NULL;
  socket_fd = -1;
  is_broken = 0;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Change the lock level in the word of a file's lease. Returns whether the word was as expected:
 * of this file, with the level that it has. Other files may have had the word since. */
int channel_lease_moves(uint32_t of, uint32_t file, int from, int to) {
  if (!memory || of != channel_generation()) return 0;
  uint32_t expected = file << 3 | (uint32_t)(from + 1), wanted = file << 3 | (uint32_t)(to + 1);
  return atomic_compare_exchange_strong(word(LEASES_AT + file % LEASE_COUNT), &expected, wanted);
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
  put = answers = 0;
  resumed_ns = now_ns();
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

static int has_answer(uint32_t number) { return atomic_load(word(ANSWERS)) == number; }
static int has_room(uint32_t size) {
  return RING_SIZE - (put - atomic_load(word(TAKEN))) >= size;
}

/* Look for some rounds. Where looking was in vain, as on a busy machine, the next wait looks for a
 * quarter of the time, and only one in many tries all of it again. */
static int look(int (*is_there)(uint32_t), uint32_t what) {
  static uint32_t rounds, waits;
  uint32_t most = atomic_load(word(ROUNDS));
  if (waits++ % WAITS_BETWEEN == 0) rounds = most;
  for (uint32_t i = 0; i <= rounds; i++) {
    if (is_there(what)) {
      if (i > 0) rounds = most;
      return 1;
    }
    relax();
  }
  rounds /= 4;
  return 0;
}

/* Whether `flysch run` has gone. */
static int is_gone(void) {
  char byte;
  return recv(socket_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static int wait_for(int (*is_there)(uint32_t), uint32_t what) {
  if (look(is_there, what)) return 1;
  const struct timespec limit = {.tv_nsec = SLEEP_NS};
  for (;;) {
    uint32_t beat = atomic_load(word(BEAT));
    atomic_store(word(PROGRAM_SLEEPS), is_there == has_room ? 2 : 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (is_there(what)) break;
    long slept = syscall(SYS_futex, word(BEAT), FUTEX_WAIT, beat, &limit, NULL, 0);
    if (slept < 0 && errno == ETIMEDOUT && is_gone()) {
      is_broken = 1;
      return 0;
    }
  }
  atomic_store(word(PROGRAM_SLEEPS), 0);
  return 1;
}

static void wake_server(void) {
  if (!atomic_exchange(word(SERVER_SLEEPS), 0)) return;
  while (send(socket_fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

/* Make room for a request in one piece. */
static int make_room(uint32_t size) {
  uint32_t left = RING_SIZE - put % RING_SIZE;
  uint32_t need = left < size ? left + size : size;
  if (!has_room(need)) {
    wake_server();
    if (!wait_for(has_room, need)) return 0;
    resumed_ns = now_ns();
  }
  if (left < size) {
    memset(memory + RING_AT + put % RING_SIZE, 0, 8);
    put += left;
  }
  return 1;
}

static int send_request(struct head *head, const void *bytes) {
  uint32_t size = (uint32_t)((sizeof *head + head->size + 7) & ~7u);
  if (!is_connected() || head->size > RING_SIZE / 2 - sizeof *head || !make_room(size)) return 0;
  head->statement = watch_running();
  head->resumed_ns = resumed_ns;
  head->sent_ns = now_ns();
  unsigned char *at = memory + RING_AT + put % RING_SIZE;
  memcpy(at, head, sizeof *head);
  if (head->size) memcpy(at + sizeof *head, bytes, head->size);
  put += size;
  atomic_store(word(PUT), put);
  atomic_thread_fence(memory_order_seq_cst);
  return 1;
}

/* Make a request and wait for its answer. */
int channel_call(struct head *head, const void *bytes, void *answer, uint32_t room) {
  int saved = errno;
  int code = SQLITE_IOERR;
  foretold_end();
  head->is_answered = 1;
  pthread_mutex_lock(&mutex);
  if (send_request(head, bytes)) {
    answers++;
    wake_server();
    if (wait_for(has_answer, answers)) {
      struct answer *found = (struct answer *)(memory + ANSWER_AT);
      code = found->code;
      uint32_t size = found->size < room ? found->size : room;
      if (size && size <= ANSWER_ROOM - sizeof *found) memcpy(answer, found + 1, size);
      resumed_ns = now_ns();
    }
  }
  pthread_mutex_unlock(&mutex);
  int is_usual = code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_IOERR_SHORT_READ;
  if (!is_usual) lease_doubt();
  errno = saved;
  return code;
}

/* Make a request that has no answer. */
void channel_post(struct head *head, const void *bytes) {
  int saved = errno;
  int can_fail = head->kind == REQUEST_WRITE || head->kind == REQUEST_SYNC ||
                 head->kind == REQUEST_OPEN || head->kind == REQUEST_LOCK ||
                 head->kind == REQUEST_DELETE || head->kind == REQUEST_TRUNCATE ||
                 head->kind == REQUEST_READ;
  if (can_fail || head->kind == REQUEST_UNLOCK) foretold_end();
  pthread_mutex_lock(&mutex);
  send_request(head, bytes);
  if (memory && put - atomic_load(word(TAKEN)) > MUCH) wake_server();
  pthread_mutex_unlock(&mutex);
  errno = saved;
}

/* Whether changes cannot fail, as there is room for them. Then SQLite need not wait for them. */
int channel_has_room(void) { return memory && atomic_load(word(ROOM)) == 1; }

/* Time that passed until now has been told. */
void channel_resume(void) {
  pthread_mutex_lock(&mutex);
  resumed_ns = now_ns();
  pthread_mutex_unlock(&mutex);
}

int channel_is_seeded(void) {
  pthread_mutex_lock(&mutex);
  int seeded = is_connected() && atomic_load(word(SEEDED)) == 1;
  pthread_mutex_unlock(&mutex);
  return seeded;
}

int64_t channel_fixed_now(void) {
  int64_t now = -1;
  pthread_mutex_lock(&mutex);
  if (is_connected()) memcpy(&now, memory + NOW * sizeof(uint32_t), sizeof now);
  pthread_mutex_unlock(&mutex);
  return now;
}

int channel_is_recorded(void) {
  pthread_mutex_lock(&mutex);
  int recorded = is_connected() && atomic_load(word(RECORDED)) == 1;
  pthread_mutex_unlock(&mutex);
  return recorded;
}

/* The folder in which the program worked whose calls are made again, or NULL. */
const char *channel_replayed_folder(void) { return getenv("FLYSCH_REPLAY"); }
