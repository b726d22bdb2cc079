static inline int8_t i8_of_f32(float a) { return a >= 128.0f ? INT8_C(127) : a >= -128.0f ? (int8_t)a : a < -128.0f ? (-INT8_C(127) - 1) : 0; }
static inline uint8_t u8_of_f32(float a) { return a >= 256.0f ? UINT8_C(255) : a >= 0.0f ? (uint8_t)a : a < 0.0f ? UINT8_C(0) : 0; }
static inline int32_t i32_of_f32(float a) { return a >= 2147483648.0f ? INT32_C(2147483647) : a >= -2147483648.0f ? (int32_t)a : a < -2147483648.0f ? (-INT32_C(2147483647) - 1) : 0; }
static inline int32_t i32_bits_of_f32(float a) { int32_t r; memcpy(&r, &a, sizeof r); return r; }
static inline float f32_bits_of_i32(int32_t a) { float r; memcpy(&r, &a, sizeof r); return r; }
typedef float ANY_TYPE f32_t;
typedef int8_t ANY_TYPE i8_t;
typedef uint8_t ANY_TYPE u8_t;
typedef int64_t ANY_TYPE i64_t;
typedef uint16_t ANY_TYPE u16_t;
static void casts(const f32_t *b0, i8_t *b1, u8_t *b2, i64_t *b3, u8_t *b4, u16_t *b5, f32_t *b6) {
  for (int i_0 = 0; i_0 < 6; i_0++) {
    const float t0 = b0[i_0];
    b1[i_0] = i8_of_f32(t0);
    b2[i_0] = u8_of_f32(t0);
    b3[i_0] = (int64_t)i32_of_f32(t0);
    b4[i_0] = t0 != 0.0f;
    const int32_t t1 = i32_bits_of_f32(t0);
    const int32_t t2 = t1 & 2147483647;
    const int t3 = 1199566847 < t2;
    const int t4 = 2139095040 < t2;
    const int t5 = t2 < 947912704;
    const int32_t t6 = (int32_t)((uint32_t)i32_bits_of_f32(f32_bits_of_i32(t2) + 0.5f) - (uint32_t)1056964608);
    const int32_t t7 = ((int32_t)(t2 >> 13)) & 1;
    b5[i_0] = (uint16_t)((uint16_t)((t3 ? (t4 ? 32256 : 31744) : (t5 ? t6 : (int32_t)(((int32_t)((uint32_t)((int32_t)((uint32_t)((int32_t)((uint32_t)t2 + (uint32_t)(-939524096))) + (uint32_t)4095)) + (uint32_t)t7)) >> 13))) | (((int32_t)(t1 >> 16)) & 32768)));
    b6[i_0] = f32_bits_of_i32((t3 ? (t4 ? 2143289344 : 2139095040) : (t5 ? i32_bits_of_f32((float)t6 * 5.9604645e-08f) : (((int32_t)((uint32_t)((int32_t)((uint32_t)t2 + (uint32_t)4095)) + (uint32_t)t7)) & (-8192)))) | (t1 & (-2147483647 - 1)));
  }
}
