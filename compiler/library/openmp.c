/* Threads by OpenMP, where the source was compiled with it. */
#ifdef _OPENMP
#include <omp.h>
#endif

typedef struct {
  int threads, before;
} Team;

static int TeamCreate(int threads, Team **made) {
#if defined MODEL_THREADS
  if (threads != (MODEL_THREADS)) return NAME_NO_THREADS;
#elif !defined _OPENMP
  if (threads > 1) return NAME_NO_THREADS;
#endif
  *made = malloc(sizeof **made);
  if (!*made) return NAME_NO_MEMORY;
  (*made)->threads = threads;
  return NAME_OK;
}

static void TeamDestroy(Team *t) { free(t); }

static void TeamBegin(Team *t) {
#ifdef _OPENMP
  t->before = omp_get_max_threads();
  omp_set_num_threads(t->threads);
#else
  (void)t;
#endif
}

static void TeamEnd(Team *t) {
#ifdef _OPENMP
  omp_set_num_threads(t->before);
#else
  (void)t;
#endif
}
