typedef float ANY_TYPE f32_t;
typedef uint8_t ANY_TYPE u8_t;
static void bools(const f32_t *b0, const u8_t *b1, u8_t *b2) {
  for (int i_0 = 0; i_0 < 5; i_0++) {
    const float t0 = b0[i_0];
    b2[i_0] = ((t0 <= 0.5f) & b1[i_0]) ^ (!(t0 == 1.0f));
  }
}
