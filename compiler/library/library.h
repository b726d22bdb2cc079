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
/* unless VARIES */
  NAME_WRONG_ARGUMENT, /* a null pointer, or fewer threads than one */
/* end */
/* if VARIES */
  NAME_WRONG_ARGUMENT, /* a null pointer, fewer threads than one, or a number beyond the last */
/* end */
  NAME_WRONG_WEIGHTS,  /* these bytes are not the weights of this model */
  NAME_NO_FILE,        /* the file cannot be opened or read: errno says why */
  NAME_NO_MEMORY,
  NAME_NO_THREADS,     /* so many cannot be started, or the library was built without threads */
/* unless SIZED */
  NAME_WRONG_PROCESSOR /* the library was built for one with more instructions */
/* end */
/* if SIZED */
  NAME_WRONG_PROCESSOR, /* the library was built for one with more instructions */
  NAME_WRONG_SIZES      /* out of the ranges of name_dimension, or other than the elements of inputs: nothing was run */
/* end */
};

/* if STATES */
/* Statuses of states; a run that ends with one has computed nothing. */
NAME_STATUSES

/* end */
/* if REFUSES */
/* This status, and those behind it, of a run: the inputs lead to a branch that does not fit the sizes that the model was
   compiled for. name_message says which; the outputs have no meaning. */
enum { NAME_REFUSED = 100 };

/* end */
typedef struct name_model name_model;
typedef struct name_context name_context;

/* An input or output: `type` as NumPy calls it, such as "float32"; elements in row-major order, of the machine's byte
   order; `rank` numbers of elements at `shape`, none of which for a scalar; `bytes` of all elements. */
/* if VARIES */
/* Sizes vary: `shape` and `bytes` are the largest. Of each axis `dimensions` has the number of the dimension that is its
   size, -1 where that is always the same, and name_dimension_count() or more where it follows from others or from data.
   Elements lie without gaps in the shape of a run. */
/* end */
typedef struct {
  const char *name, *type;
  int rank;
  const int64_t *shape;
  size_t bytes;
/* if VARIES */
  const int *dimensions;
/* end */
} name_tensor;
/* if VARIES */

/* A size that each run chooses: from `least` to `most`, and a multiple of `multiple`. It is the element of the input of
   number `input`, where that is not -1. */
typedef struct {
  const char *name;
  int64_t least, most, multiple;
  int input;
} name_range;
/* end */
/* if STATES */

/* A count of rows that states have: a run begins with at most `most` of them, a multiple of `multiple`, and may leave more.
   Where `dropped` is not -1 it is the number of another length, of whose rows this one counts those that were dropped.
   `growth` is 0 where runs leave it as it is, 1 where they add as many rows as to name_position, and else 2. */
typedef struct {
  const char *name;
  int64_t most, multiple;
  int dropped, growth;
} name_length;
/* end */

/* What a returned number means, as a text that stays. */
NAME_API const char *name_message(int status);

/* How many inputs and outputs there are, and each of them from 0 on; a null pointer beyond the last. */
NAME_API int name_input_count(void);
NAME_API int name_output_count(void);
NAME_API const name_tensor *name_input(int number);
NAME_API const name_tensor *name_output(int number);
/* if VARIES */

/* The sizes that a run chooses: how many there are, and each of them. */
NAME_API int name_dimension_count(void);
NAME_API const name_range *name_dimension(int number);
/* end */
/* if SHAPED */

/* unless STATES */
/* The shape of an input in a run of these sizes, one for each dimension, written to `shape`, which has its rank. */
/* end */
/* if STATES */
/* The shape of an input in the next run with this state, of these sizes, one for each dimension where there are any,
   written to `shape`, which has its rank. */
/* end */
NAME_API int name_input_shape(int number, /*if SIZED: const int64_t *sizes, *//*if STATES: const void *state, */int64_t *shape);
/* end */
/* if STATES */

/* What outlives a run is in memory of the caller's, aligned to 8 bytes: so many bytes, all zero before the first run of
   a sequence, and for each run of the sequence those that the one before has left. A copy goes on from the same rows. */
NAME_API size_t name_state_bytes(void);
NAME_STATE_FUNCTIONS

/* The states, each an array in that memory, which is laid out for the largest shape, `shape` of name_state. Where an entry
   n of its `dimensions` is name_dimension_count() or more, that axis has the rows of name_state_length(n -
   name_dimension_count()). The memory is of this library alone: another build may lay it out otherwise. */
NAME_API int name_state_count(void);
NAME_API const name_tensor *name_state(int number);
NAME_API void *name_state_data(void *state, int number);

/* How many lengths there are, each of them, and how many rows the states have, an element for each. Who writes other rows
   to the arrays sets the lengths then; NAME_WRONG_ARGUMENT where there is no room for so many. */
NAME_API int name_length_count(void);
NAME_API const name_length *name_state_length(int number);
NAME_API int name_get_lengths(const void *state, int64_t *lengths);
NAME_API int name_set_lengths(void *state, const int64_t *lengths);
/* end */

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
/* if SIZED */
/* `sizes` has one for each dimension. */
/* end */
/* if STATES */
/* A run finds in `state` what the one before has left there. */
/* end */
/* unless SIZED */
NAME_API int name_context_run(name_context *context, /*if STATES: void *state, */const void *const *inputs, void *const *outputs);
/* end */
/* if SIZED */
NAME_API int name_context_run_sized(name_context *context, /*if STATES: void *state, */const int64_t *sizes,
                                    const void *const *inputs, void *const *outputs);
/* end */
/* if VARIES */

/* The shape of an output of the last run, written to `shape`, which has its rank. */
NAME_API int name_context_output_shape(const name_context *context, int number, int64_t *shape);
/* end */

#define NAME_ALIGNMENT NAME_CACHE_LINE
#ifdef __cplusplus
}
#endif
#endif
