typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float ANY_TYPE f32_t;
typedef int64_t ANY_TYPE i64_t;
static void gather(const f32_t *b0, const i64_t *b1, f32_t *b2) {
  for (int i_0 = 0; i_0 < 3; i_0++) {
    const int32_t t0 = (int32_t)b1[i_0];
    *(f32x4 *)&b2[i_0 * 4] = *(const f32x4 *)&b0[(int32_t)((uint32_t)((t0 < 0) ? (int32_t)((uint32_t)t0 + (uint32_t)5) : t0) * ((uint32_t)4))];
  }
}
