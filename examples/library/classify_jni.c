/* What Classify.java calls: see there. */
#include "Classify.h"
#include "resnet18_digits_library.h"

static void check(JNIEnv *env, int status) {
  if (status == RESNET18_DIGITS_OK) return;
  jclass type = (*env)->FindClass(env, "java/lang/IllegalStateException");
  (*env)->ThrowNew(env, type, resnet18_digits_message(status));
}

static jfieldID field(JNIEnv *env, jobject self, const char *name) {
  return (*env)->GetFieldID(env, (*env)->GetObjectClass(env, self), name, "J");
}

static void *pointer(JNIEnv *env, jobject self, const char *name) {
  return (void *)(intptr_t)(*env)->GetLongField(env, self, field(env, self, name));
}

static void keep(JNIEnv *env, jobject self, const char *name, void *p) {
  (*env)->SetLongField(env, self, field(env, self, name), (jlong)(intptr_t)p);
}

JNIEXPORT void JNICALL Java_Classify_create(JNIEnv *env, jobject self, jstring weights, jint threads) {
  const char *path = (*env)->GetStringUTFChars(env, weights, NULL);
  if (!path) return;
  resnet18_digits_model *model;
  resnet18_digits_context *context = NULL;
  int status = resnet18_digits_create_from_file(path, &model);
  (*env)->ReleaseStringUTFChars(env, weights, path);
  if (status == RESNET18_DIGITS_OK) status = resnet18_digits_context_create(model, threads, &context);
  if (status != RESNET18_DIGITS_OK) resnet18_digits_destroy(model);
  keep(env, self, "model", status == RESNET18_DIGITS_OK ? model : NULL);
  keep(env, self, "context", context);
  check(env, status);
}

JNIEXPORT void JNICALL Java_Classify_run(JNIEnv *env, jobject self, jobject image, jobject logits) {
  const void *inputs[] = {(*env)->GetDirectBufferAddress(env, image)};
  void *outputs[] = {(*env)->GetDirectBufferAddress(env, logits)};
  check(env, resnet18_digits_context_run(pointer(env, self, "context"), inputs, outputs));
}

JNIEXPORT void JNICALL Java_Classify_close(JNIEnv *env, jobject self) {
  resnet18_digits_context_destroy(pointer(env, self, "context"));
  resnet18_digits_destroy(pointer(env, self, "model"));
  keep(env, self, "model", NULL);
  keep(env, self, "context", NULL);
}
