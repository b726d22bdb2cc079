// What CUDA C++ has beyond C++, for the processor: each invocation of a workgroup is a coroutine, and at a barrier or a
// shuffle each runs as far as there before the first goes on. Workgroups run one after the other.
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <ucontext.h>
#undef INFINITY
#undef NAN
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(most)
#define __align__(size) __attribute__((aligned(size)))

struct Index { int x, y, z; };
static Index blockIdx, threadIdx, blockDim;

template <class T> struct alignas(16) Four { T x, y, z, w; };
using float4 = Four<float>; using int4 = Four<int>; using uint4 = Four<unsigned>;
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (signed char)(a >> i) * (signed char)(b >> i);
  return c;
}
static inline float __int_as_float(int a) { float r; memcpy(&r, &a, 4); return r; }

enum { LARGEST = 1024, STACK = 1 << 18 };
static ucontext_t scheduler, invocations[LARGEST];
static char *stacks;
static Index indices[LARGEST];
static int now, threads;
static bool ended[LARGEST];
static void (*body)();

static void meet() { const int me = now; swapcontext(&invocations[me], &scheduler); threadIdx = indices[me]; }
static inline void __syncthreads() { meet(); }

static unsigned char passed[LARGEST][16];
template <class T> static T taken(T a, int lane, bool there) {
  memcpy(passed[now], &a, sizeof a);
  meet();
  T r = a;
  if (there) memcpy(&r, passed[now / 32 * 32 + lane], sizeof r);
  meet();
  return r;
}
static int first_outside(unsigned mask) { int n = 0; while (n < 32 && mask >> n & 1) n++; return n; }
template <class T> static T __shfl_sync(unsigned mask, T a, int lane) {
  return taken(a, lane % 32, lane % 32 < first_outside(mask));
}
template <class T> static T __shfl_up_sync(unsigned mask, T a, int n) { return taken(a, now % 32 - n, now % 32 >= n); }

static void enter() { body(); ended[now] = true; swapcontext(&invocations[now], &scheduler); }

static void run_workgroup() {
  for (now = 0; now < threads; now++) {
    ucontext_t *c = &invocations[now];
    getcontext(c);
    c->uc_stack.ss_sp = stacks + (size_t)now * STACK;
    c->uc_stack.ss_size = STACK;
    c->uc_link = 0;
    makecontext(c, enter, 0);
    ended[now] = false;
    indices[now] = {now % blockDim.x, now / blockDim.x % blockDim.y, now / blockDim.x / blockDim.y};
  }
  for (bool any = true; any;) {
    any = false;
    for (now = 0; now < threads; now++)
      if (!ended[now]) { threadIdx = indices[now]; swapcontext(&scheduler, &invocations[now]); any = true; }
  }
}

static void **arguments;
template <int... I> struct Numbers {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> { using type = Numbers<I...>; };
template <class... A, int... I> static void call(void (*f)(A...), Numbers<I...>) { f(*(A *)arguments[I]...); }
template <class... A> static void call(void (*f)(A...)) { call(f, typename Count<sizeof...(A)>::type()); }
template <class... A> static int count(void (*)(A...)) { return sizeof...(A); }
template <class T> constexpr int is_pointer = 0;
template <class T> constexpr int is_pointer<T *> = 1;
template <class... A> static int count_pointers(void (*)(A...)) { return (is_pointer<A> + ... + 0); }
static void call_run();

extern "C" void launch(void **a, int gx, int gy, int gz, int bx, int by, int bz) {
  arguments = a; body = call_run; blockDim = {bx, by, bz}; threads = bx * by * bz;
  stacks = (char *)malloc((size_t)threads * STACK);
  for (blockIdx.z = 0; blockIdx.z < gz; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < gy; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < gx; blockIdx.x++) run_workgroup();
  free(stacks);
}
