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
/* if VARIES */
  int64_t sizes[SIZES]; /* of the last run: of dimensions, then others that follow from these or from data */
/* end */
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
/* unless VARIES */
      "a null pointer, or fewer than one thread",
/* end */
/* if VARIES */
      "a null pointer, fewer than one thread, or a number beyond the last",
/* end */
      "these are not the weights of NAME_STRING: they are the file NAME_PREFIX.weights, which was written with the library",
      "the file of weights cannot be read",
      "there is not enough memory",
      "so many threads cannot be started; source compiled without -fopenmp has one, with -DMODEL_THREADS=N these",
      "this processor lacks instructions that the library was built for: build it with another --cpu",
/* if SIZED */
      ("sizes that the model was not compiled for: it takes " SIZES_TAKEN),
/* end */
  };
/* if STATES */
  if (status <= NAME_STATE_FULL && status >= NAME_STATE_FEWER) return StateTexts[NAME_STATE_FULL - status];
/* end */
/* if REFUSES */
  if (status >= NAME_REFUSED && status < NAME_REFUSED + REFUSALS) return Refusals[status - NAME_REFUSED];
/* end */
  return status >= 0 && status < (int)(sizeof texts / sizeof *texts) ? texts[status] : "an unknown status";
}

int name_input_count(void) { return INPUTS; }
int name_output_count(void) { return OUTPUTS; }
const name_tensor *name_input(int number) { return number >= 0 && number < INPUTS ? &InputsOfModel[number] : NULL; }
const name_tensor *name_output(int number) {
  return number >= 0 && number < OUTPUTS ? &OutputsOfModel[number] : NULL;
}

/* if VARIES */
int name_dimension_count(void) { return DIMENSIONS; }
const name_range *name_dimension(int number) {
  return number >= 0 && number < DIMENSIONS ? &DimensionsOfModel[number] : NULL;
}

static void SetShape(const name_tensor *t, const int64_t *sizes, int64_t *shape) {
  for (int i = 0; i < t->rank; i++) shape[i] = t->dimensions[i] < 0 ? t->shape[i] : sizes[t->dimensions[i]];
}
/* end */
/* if SIZED */

static int TakesSizes(const int64_t *sizes) {
  for (int i = 0; i < DIMENSIONS; i++) {
    const name_range *d = &DimensionsOfModel[i];
    if (sizes[i] < d->least || sizes[i] > d->most || sizes[i] % d->multiple) return 0;
  }
  return 1;
}

/* The element of an input that has one, an int32 or int64. */
static int64_t Element(const void *input, size_t bytes) {
  int64_t element;
  int32_t narrow;
  if (bytes == sizeof element) {
    memcpy(&element, input, sizeof element);
    return element;
  }
  memcpy(&narrow, input, sizeof narrow);
  return narrow;
}

static int AreElements(const int64_t *sizes, const void *const *inputs) {
  for (int i = 0; i < DIMENSIONS; i++) {
    const int input = DimensionsOfModel[i].input;
    if (input >= 0 && Element(inputs[input], InputsOfModel[input].bytes) != sizes[i]) return 0;
  }
  return 1;
}

/* end */
/* if SHAPED */
int name_input_shape(int number, /*if SIZED: const int64_t *sizes, *//*if STATES: const void *state, */int64_t *shape) {
  const name_tensor *t = name_input(number);
  if (!t || (t->rank && !shape)) return NAME_WRONG_ARGUMENT;
  int64_t all[SIZES] = {0};
/* if SIZED */
  if (!sizes) return NAME_WRONG_ARGUMENT;
  if (!TakesSizes(sizes)) return NAME_WRONG_SIZES;
  memcpy(all, sizes, DIMENSIONS * sizeof *sizes);
/* end */
/* if STATES */
  if (!state) return NAME_WRONG_ARGUMENT;
  memcpy(all + DIMENSIONS, KeptOf(state), LENGTHS * sizeof *all);
/* end */
  SetKnownSizes(all);
  SetShape(t, all, shape);
  return NAME_OK;
}
/* end */
/* if STATES */

size_t name_state_bytes(void) { return STATE_BYTES; }
int name_state_count(void) { return STATES; }
const name_tensor *name_state(int number) { return number >= 0 && number < STATES ? &StatesOfModel[number] : NULL; }
void *name_state_data(void *state, int number) {
  return state && name_state(number) ? (unsigned char *)state + StateOffsets[number] : NULL;
}

int name_length_count(void) { return LENGTHS; }
const name_length *name_state_length(int number) {
  return number >= 0 && number < LENGTHS ? &LengthsOfModel[number] : NULL;
}

int name_get_lengths(const void *state, int64_t *lengths) {
  if (!state || (LENGTHS && !lengths)) return NAME_WRONG_ARGUMENT;
  for (int i = 0; i < LENGTHS; i++) lengths[i] = KeptOf(state)[i];
  return NAME_OK;
}

int name_set_lengths(void *state, const int64_t *lengths) {
  if (!state || (LENGTHS && !lengths)) return NAME_WRONG_ARGUMENT;
  for (int i = 0; i < LENGTHS; i++)
    if (lengths[i] < 0 || lengths[i] % LengthsOfModel[i].multiple ||
        (LengthsOfModel[i].dropped >= 0 && lengths[i] > LengthsOfModel[i].most))
      return NAME_WRONG_ARGUMENT;
/* if VARIES */
  for (int i = 0; i < STATES; i++)
    for (int axis = 0; axis < StatesOfModel[i].rank; axis++) {
      const int length = StatesOfModel[i].dimensions[axis] - DIMENSIONS;
      if (length >= 0 && lengths[length] > StatesOfModel[i].shape[axis]) return NAME_WRONG_ARGUMENT;
    }
/* end */
  for (int i = 0; i < LENGTHS; i++) KeptOf(state)[i] = lengths[i];
  return NAME_OK;
}
/* end */
/* if VARIES */

/* end */
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

/* unless SIZED */
int name_context_run(name_context *context, /*if STATES: void *state, */const void *const *inputs, void *const *outputs) {
  if (!context || (INPUTS && !inputs) || (OUTPUTS && !outputs)) return NAME_WRONG_ARGUMENT;
/* end */
/* if SIZED */
int name_context_run_sized(name_context *context, /*if STATES: void *state, */const int64_t *sizes,
                           const void *const *inputs, void *const *outputs) {
  if (!context || !sizes || (INPUTS && !inputs) || (OUTPUTS && !outputs)) return NAME_WRONG_ARGUMENT;
/* end */
/* if STATES */
  if (!state || (uintptr_t)state % sizeof(int64_t)) return NAME_WRONG_ARGUMENT;
/* end */
  for (int i = 0; i < INPUTS; i++)
    if (!inputs[i]) return NAME_WRONG_ARGUMENT;
  for (int i = 0; i < OUTPUTS; i++)
    if (!outputs[i]) return NAME_WRONG_ARGUMENT;
/* if SIZED */
  if (!TakesSizes(sizes) || !AreElements(sizes, inputs)) return NAME_WRONG_SIZES;
  memcpy(context->sizes, sizes, DIMENSIONS * sizeof *sizes);
/* end */
  TeamBegin(context->threads);
  /*if FAILS: const int status = */RunModel(context->model->weights, context->model->prepared, context->arena,
      /*if STATES: state, *//*if VARIES: context->sizes, */inputs, outputs);
  TeamEnd(context->threads);
/* if REFUSES */
  if (status > 0) return NAME_REFUSED - 1 + status;
/* end */
/* if FAILS */
  return status;
/* end */
/* unless FAILS */
  return NAME_OK;
/* end */
}
/* if VARIES */

int name_context_output_shape(const name_context *context, int number, int64_t *shape) {
  const name_tensor *t = name_output(number);
  if (!context || !t || (t->rank && !shape)) return NAME_WRONG_ARGUMENT;
  SetShape(t, context->sizes, shape);
  return NAME_OK;
}
/* end */
