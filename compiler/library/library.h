/* NAME_STRING, compiled by webnn-compile, as a library.

   A model is the weights and what is made of them; threads share it, and it is only read. A context is the memory of a
   run, and its threads; one thread at a time uses it. Functions that return int return NAME_OK or another of the
   numbers below, of which name_message tells the meaning; what they would have made is then a null pointer. */
#ifndef NAME_LIBRARY_H
#define NAME_LIBRARY_H
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define NAME_API __attribute__((visibility("default")))
#else
#define NAME_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

enum {
  NAME_OK,
  NAME_WRONG_ARGUMENT, /* a null pointer, or fewer threads than one */
  NAME_WRONG_WEIGHTS,  /* these bytes are not the weights of this model */
  NAME_NO_FILE,        /* the file cannot be opened or read: errno says why */
  NAME_NO_MEMORY,
  NAME_NO_THREADS,     /* so many cannot be started, or the library was built without threads */
  NAME_WRONG_PROCESSOR /* the library was built for one with more instructions */
};

typedef struct name_model name_model;
typedef struct name_context name_context;

/* An input or output: `type` as NumPy calls it, such as "float32"; elements in row-major order, of the machine's byte
   order; `rank` numbers of elements at `shape`, none of which for a scalar; `bytes` of all elements. */
typedef struct {
  const char *name, *type;
  int rank;
  const int64_t *shape;
  size_t bytes;
} name_tensor;

/* What a returned number means, as a text that stays. */
NAME_API const char *name_message(int status);

/* How many inputs and outputs there are, and each of them from 0 on; a null pointer beyond the last. */
NAME_API int name_input_count(void);
NAME_API int name_output_count(void);
NAME_API const name_tensor *name_input(int number);
NAME_API const name_tensor *name_output(int number);

/* Makes a model of the contents of the file of weights, which must stay until it is destroyed, best aligned to
   NAME_ALIGNMENT bytes; or of the file. Destroy the model's contexts first. */
NAME_API int name_create(const void *weights, size_t bytes, name_model **model);
NAME_API int name_create_from_file(const char *path, name_model **model);
NAME_API void name_destroy(name_model *model);

/* Makes what a run needs, with so many threads, the caller's among them. */
NAME_API int name_context_create(const name_model *model, int threads, name_context **context);
NAME_API void name_context_destroy(name_context *context);

/* Computes the outputs, each written to the memory that the caller has for it, from the inputs, in the order of
   name_input and name_output. Allocates nothing. */
NAME_API int name_context_run(name_context *context, const void *const *inputs, void *const *outputs);

#define NAME_ALIGNMENT 64
#ifdef __cplusplus
}
#endif
#endif
