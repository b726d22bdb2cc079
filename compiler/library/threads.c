/* Threads of a context: they take a loop's chunks one by one, wait for the next loop for a moment, and then sleep. */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define CHUNKS_PER_THREAD 16
#define SPINS 20000 /* some tenths of a millisecond: as long as there is between the loops of a run */

typedef void LoopBody(void *arguments, int32_t begin, int32_t end);

typedef struct {
  int size; /* with the thread that calls */
  int started;
  pid_t process; /* a fork of it has no threads but the caller's */
  pthread_t *others;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  int stop, asleep;
  /* The loop: they change only while no chunk of it is left. */
  LoopBody *body;
  void *arguments;
  int64_t extent, chunks;
  uint32_t loops; /* that the caller has begun */
  uint64_t ticket; /* above 32 bits the number of the loop, below the chunks that are left of it */
  int64_t finished;
} Team;

static __thread Team *TeamHere;

static void Pause(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

/* Chunks, until none is left. A chunk that is taken keeps its loop, and so the fields above, from being replaced. */
static void TeamWork(Team *t) {
  uint64_t ticket = __atomic_load_n(&t->ticket, __ATOMIC_ACQUIRE);
  while ((uint32_t)ticket) {
    if (!__atomic_compare_exchange_n(&t->ticket, &ticket, ticket - 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) continue;
    const int64_t chunk = (int64_t)(uint32_t)ticket - 1;
    t->body(t->arguments, (int32_t)(chunk * t->extent / t->chunks), (int32_t)((chunk + 1) * t->extent / t->chunks));
    __atomic_add_fetch(&t->finished, 1, __ATOMIC_RELEASE);
    ticket = __atomic_load_n(&t->ticket, __ATOMIC_ACQUIRE);
  }
}

static int TeamWaits(Team *t) {
  return !(uint32_t)__atomic_load_n(&t->ticket, __ATOMIC_SEQ_CST) && !__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST);
}

static void *TeamMember(void *data) {
  Team *t = data;
  for (;;) {
    for (int i = 0; i < SPINS && TeamWaits(t); i++) Pause();
    if (TeamWaits(t)) {
      pthread_mutex_lock(&t->lock);
      __atomic_add_fetch(&t->asleep, 1, __ATOMIC_SEQ_CST);
      while (TeamWaits(t)) pthread_cond_wait(&t->wake, &t->lock);
      __atomic_sub_fetch(&t->asleep, 1, __ATOMIC_SEQ_CST);
      pthread_mutex_unlock(&t->lock);
    }
    if (__atomic_load_n(&t->stop, __ATOMIC_SEQ_CST)) return NULL;
    TeamWork(t);
  }
}

static void TeamWake(Team *t) {
  if (!__atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&t->lock);
  pthread_cond_broadcast(&t->wake);
  pthread_mutex_unlock(&t->lock);
}

/* What kernels call: `body` for chunks that make up 0 .. extent. */
__attribute__((visibility("hidden"))) void parallel_for(LoopBody *body, void *arguments, int32_t extent) {
  Team *t = TeamHere;
  if (!t || t->size == 1 || extent < 2) {
    body(arguments, 0, extent);
    return;
  }
  const int64_t most = (int64_t)t->size * CHUNKS_PER_THREAD;
  t->body = body;
  t->arguments = arguments;
  t->extent = extent;
  t->chunks = extent < most ? extent : most;
  t->finished = 0;
  __atomic_store_n(&t->ticket, (uint64_t)++t->loops << 32 | (uint64_t)t->chunks, __ATOMIC_SEQ_CST);
  TeamWake(t);
  TeamWork(t);
  for (int i = 0; __atomic_load_n(&t->finished, __ATOMIC_ACQUIRE) < t->chunks; i++)
    if (i < SPINS)
      Pause();
    else
      sched_yield();
}

static void TeamDestroy(Team *t) {
  if (!t) return;
  if (t->process == getpid()) {
    __atomic_store_n(&t->stop, 1, __ATOMIC_SEQ_CST);
    TeamWake(t);
    for (int i = 0; i < t->started; i++) pthread_join(t->others[i], NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
  }
  free(t->others);
  free(t);
}

static int TeamCreate(int threads, Team **made) {
  Team *t = calloc(1, sizeof *t);
  if (!t) return NAME_NO_MEMORY;
  t->size = threads;
  t->process = getpid();
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->wake, NULL);
  t->others = malloc((size_t)threads * sizeof *t->others);
  if (!t->others) {
    TeamDestroy(t);
    return NAME_NO_MEMORY;
  }
  for (; t->started < threads - 1; t->started++)
    if (pthread_create(&t->others[t->started], NULL, TeamMember, t)) {
      TeamDestroy(t);
      return NAME_NO_THREADS;
    }
  *made = t;
  return NAME_OK;
}

static void TeamBegin(Team *t) { TeamHere = t->process == getpid() ? t : NULL; }
static void TeamEnd(Team *t) {
  (void)t;
  TeamHere = NULL;
}
