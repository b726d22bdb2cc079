#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE 2097152

struct name_model {
  const unsigned char *weights;
  unsigned char *prepared;
  void *own_weights; /* those that were read from a file */
};

struct name_context {
  const name_model *model;
  unsigned char *arena;
  Team *threads;
};

/* Memory that is aligned; what is large lies in huge pages where the system has them. Null where there is none. */
static void *Take(size_t bytes) {
  const size_t alignment = bytes < 2 * HUGE_PAGE ? NAME_ALIGNMENT : HUGE_PAGE;
  if (bytes > SIZE_MAX - alignment - sizeof(void *)) return NULL;
  unsigned char *raw = malloc(bytes + alignment + sizeof(void *));
  if (!raw) return NULL;
  unsigned char *start = raw + sizeof(void *);
  start += alignment - 1 - ((uintptr_t)start + alignment - 1) % alignment;
  memcpy(start - sizeof(void *), &raw, sizeof raw);
#ifdef MADV_HUGEPAGE
  if (alignment == HUGE_PAGE) (void)madvise(start, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
  return start;
}

static void GiveBack(void *taken) {
  if (!taken) return;
  void *raw;
  memcpy(&raw, (unsigned char *)taken - sizeof raw, sizeof raw);
  free(raw);
}

/* Fletcher's checksum of 64-bit words, of which weights are a multiple. */
static uint64_t Checksum(const unsigned char *data, size_t bytes) {
  uint64_t sum = 0, sums = 0;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, data + i, 8);
    sum += word;
    sums += sum;
  }
  return sum ^ (sums << 32 | sums >> 32);
}

const char *name_message(int status) {
  static const char *const texts[] = {
      "no error",
      "a null pointer, or fewer than one thread",
      "these are not the weights of NAME_STRING: they are the file NAME_PREFIX.weights, which was written with the library",
      "the file of weights cannot be read",
      "there is not enough memory",
      "so many threads cannot be started; source compiled without -fopenmp has one, with -DMODEL_THREADS=N these",
      "this processor lacks instructions that the library was built for: build it with another --cpu",
  };
  return status >= 0 && status < (int)(sizeof texts / sizeof *texts) ? texts[status] : "an unknown status";
}

int name_input_count(void) { return INPUTS; }
int name_output_count(void) { return OUTPUTS; }
const name_tensor *name_input(int number) { return number >= 0 && number < INPUTS ? &InputsOfModel[number] : NULL; }
const name_tensor *name_output(int number) {
  return number >= 0 && number < OUTPUTS ? &OutputsOfModel[number] : NULL;
}

static int Create(const unsigned char *weights, void *own, name_model **model) {
  if (Checksum(weights, WEIGHTS_BYTES) != WEIGHTS_CHECKSUM) return NAME_WRONG_WEIGHTS;
  name_model *made = malloc(sizeof *made);
  unsigned char *prepared = Take(PREPARED_BYTES);
  if (!made || !prepared) {
    GiveBack(prepared);
    free(made);
    return NAME_NO_MEMORY;
  }
  PrepareModel(weights, prepared);
  made->weights = weights;
  made->prepared = prepared;
  made->own_weights = own;
  *model = made;
  return NAME_OK;
}

int name_create(const void *weights, size_t bytes, name_model **model) {
  if (!model) return NAME_WRONG_ARGUMENT;
  *model = NULL;
  if (!weights) return NAME_WRONG_ARGUMENT;
  if (!PROCESSOR_SUITS) return NAME_WRONG_PROCESSOR;
  return bytes == WEIGHTS_BYTES ? Create(weights, NULL, model) : NAME_WRONG_WEIGHTS;
}

static int ReadWeights(FILE *file, unsigned char *weights) {
  if (fread(weights, 1, WEIGHTS_BYTES, file) != WEIGHTS_BYTES) return ferror(file) ? NAME_NO_FILE : NAME_WRONG_WEIGHTS;
  return fgetc(file) == EOF ? NAME_OK : NAME_WRONG_WEIGHTS;
}

int name_create_from_file(const char *path, name_model **model) {
  if (!model) return NAME_WRONG_ARGUMENT;
  *model = NULL;
  if (!path) return NAME_WRONG_ARGUMENT;
  if (!PROCESSOR_SUITS) return NAME_WRONG_PROCESSOR;
  FILE *file = fopen(path, "rb");
  if (!file) return NAME_NO_FILE;
  unsigned char *weights = Take(WEIGHTS_BYTES);
  int status = weights ? ReadWeights(file, weights) : NAME_NO_MEMORY;
  (void)fclose(file);
  if (status == NAME_OK) status = Create(weights, weights, model);
  if (status != NAME_OK) GiveBack(weights);
  return status;
}

void name_destroy(name_model *model) {
  if (!model) return;
  GiveBack(model->prepared);
  GiveBack(model->own_weights);
  free(model);
}

int name_context_create(const name_model *model, int threads, name_context **context) {
  if (!context) return NAME_WRONG_ARGUMENT;
  *context = NULL;
  if (!model || threads < 1) return NAME_WRONG_ARGUMENT;
  name_context *made = calloc(1, sizeof *made);
  if (!made) return NAME_NO_MEMORY;
  made->model = model;
  made->arena = Take(ARENA_BYTES);
  int status = made->arena ? TeamCreate(threads, &made->threads) : NAME_NO_MEMORY;
  if (status == NAME_OK)
    *context = made;
  else
    name_context_destroy(made);
  return status;
}

void name_context_destroy(name_context *context) {
  if (!context) return;
  TeamDestroy(context->threads);
  GiveBack(context->arena);
  free(context);
}

int name_context_run(name_context *context, const void *const *inputs, void *const *outputs) {
  if (!context || (INPUTS && !inputs) || (OUTPUTS && !outputs)) return NAME_WRONG_ARGUMENT;
  for (int i = 0; i < INPUTS; i++)
    if (!inputs[i]) return NAME_WRONG_ARGUMENT;
  for (int i = 0; i < OUTPUTS; i++)
    if (!outputs[i]) return NAME_WRONG_ARGUMENT;
  TeamBegin(context->threads);
  RunModel(context->model->weights, context->model->prepared, context->arena, inputs, outputs);
  TeamEnd(context->threads);
  return NAME_OK;
}
