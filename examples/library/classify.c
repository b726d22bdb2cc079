/* Reads a digit with the example's model as a library. The image is 1024 floats, 32 rows of 32, 0 to 1.

   cc -Ilib classify.c -Llib -lresnet18_digits -Wl,-rpath,lib -o classify
   ./classify lib/resnet18_digits.weights image.f32 */
#include "resnet18_digits_library.h"

#include <stdio.h>

static int fail(int status) {
  fprintf(stderr, "%s\n", resnet18_digits_message(status));
  return 1;
}

int main(int argc, char **argv) {
  float image[32 * 32], logits[10];
  FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (!file || fread(image, sizeof *image, 32 * 32, file) != 32 * 32) {
    fprintf(stderr, "give the file of weights and one of 1024 floats\n");
    return 2;
  }
  fclose(file);

  resnet18_digits_model *model;
  resnet18_digits_context *context;
  int status = resnet18_digits_create_from_file(argv[1], &model);
  if (status != RESNET18_DIGITS_OK) return fail(status);
  status = resnet18_digits_context_create(model, 1, &context);
  if (status != RESNET18_DIGITS_OK) return fail(status);
  const void *inputs[] = {image};
  void *outputs[] = {logits};
  status = resnet18_digits_context_run(context, inputs, outputs);
  if (status != RESNET18_DIGITS_OK) return fail(status);
  resnet18_digits_context_destroy(context);
  resnet18_digits_destroy(model);

  int best = 0;
  for (int i = 1; i < 10; i++)
    if (logits[i] > logits[best]) best = i;
  printf("%d\n", best);
  return 0;
}
