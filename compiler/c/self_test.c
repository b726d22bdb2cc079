#include <stdlib.h>
#ifdef __clang__
#define SCALAR_FORM __attribute__((optnone, noinline))
#elif defined __GNUC__
#define SCALAR_FORM __attribute__((optimize("O0"), noinline))
#else
#define SCALAR_FORM
#endif
/* Of the last test. */
static const char *FailedKernel;

static inline uint32_t NextRandom(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}

static inline void *CopyOf(const void *p, size_t bytes) {
  void *copy = malloc(bytes + !bytes);
  if (!copy) abort();
  return memcpy(copy, p, bytes);
}

/* An element, of float32, float64 or the bits of a float16. */
static inline double ElementOf(const void *p, int i, int bytes) {
  if (bytes == 4) return ((const float *)p)[i];
  if (bytes == 8) return ((const double *)p)[i];
  const uint16_t h = ((const uint16_t *)p)[i];
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return fraction ? NAN : h >> 15 ? -INFINITY : INFINITY;
  const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return h >> 15 ? -size : size;
}

/* Floats may differ by a thousandth of the largest; of other elements, which were rounded, one in a hundred. */
static inline void Compare(const char *kernel, const void *made, const void *want, int count, int bytes, int is_float) {
  double largest = 0;
  for (int i = 0; is_float && i < count; i++) {
    const double size = fabs(ElementOf(want, i, bytes));
    if (size > largest && size < INFINITY) largest = size;
  }
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    if (!memcmp((const char *)made + (size_t)i * bytes, (const char *)want + (size_t)i * bytes, bytes)) continue;
    if (!is_float) {
      wrong++;
      continue;
    }
    const double a = ElementOf(made, i, bytes), b = ElementOf(want, i, bytes);
    wrong += a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= largest / 1000);
  }
  if (wrong > (is_float ? 0 : count / 100) && !FailedKernel) FailedKernel = kernel;
}
