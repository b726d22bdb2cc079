/* Threads by OpenMP, where the source was compiled with it. */
#ifdef _OPENMP
#include <omp.h>
#endif

typedef struct {
  int threads, before;
} team;

static int team_create(int threads, team **made) {
#ifndef _OPENMP
  if (threads > 1) return NAME_NO_THREADS;
#endif
  *made = malloc(sizeof **made);
  if (!*made) return NAME_NO_MEMORY;
  (*made)->threads = threads;
  return NAME_OK;
}

static void team_destroy(team *t) { free(t); }

static void team_begin(team *t) {
#ifdef _OPENMP
  t->before = omp_get_max_threads();
  omp_set_num_threads(t->threads);
#else
  (void)t;
#endif
}

static void team_end(team *t) {
#ifdef _OPENMP
  omp_set_num_threads(t->before);
#else
  (void)t;
#endif
}
