// NAME_STRING, compiled by webnn-compile, for C++11 and later.
#ifndef NAME_HPP
#define NAME_HPP
#include "name_library.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace webnn {
namespace NAME_PREFIX {

// What a function of the library returned, and what it means.
class Error : public std::runtime_error {
public:
  explicit Error(int status) : std::runtime_error(name_message(status)), status(status) {}
  const int status;
};

inline void check(int status) {
  if (status != NAME_OK) throw Error(status);
}

struct Tensor {
  std::string name, type; // as NumPy calls it: "float32"
  std::vector<std::int64_t> shape;
  std::size_t bytes;
/* if VARIES */
  std::vector<int> dimensions; // of each axis
/* end */
};

inline Tensor tensor(const name_tensor &t) {
/* unless VARIES */
  return {t.name, t.type, std::vector<std::int64_t>(t.shape, t.shape + t.rank), t.bytes};
/* end */
/* if VARIES */
  return {t.name, t.type, std::vector<std::int64_t>(t.shape, t.shape + t.rank), t.bytes,
          std::vector<int>(t.dimensions, t.dimensions + t.rank)};
/* end */
}

inline std::vector<Tensor> inputs() {
  std::vector<Tensor> found;
  for (int i = 0; i < name_input_count(); i++) found.push_back(tensor(*name_input(i)));
  return found;
}

inline std::vector<Tensor> outputs() {
  std::vector<Tensor> found;
  for (int i = 0; i < name_output_count(); i++) found.push_back(tensor(*name_output(i)));
  return found;
}

/* if SIZED */
// A size that each run chooses; the header says more.
struct Dimension {
  std::string name;
  std::int64_t least, most, multiple;
  int input;
};

inline std::vector<Dimension> dimensions() {
  std::vector<Dimension> found;
  for (int i = 0; i < name_dimension_count(); i++) {
    const name_range &d = *name_dimension(i);
    found.push_back({d.name, d.least, d.most, d.multiple, d.input});
  }
  return found;
}

inline const std::int64_t *checked(const std::vector<std::int64_t> &sizes) {
  if (sizes.size() != std::size_t(name_dimension_count())) throw Error(NAME_WRONG_ARGUMENT);
  return sizes.data();
}

/* unless STATES */
// The shape of an input in a run of these sizes, in the order of dimensions().
inline std::vector<std::int64_t> input_shape(int number, const std::vector<std::int64_t> &sizes) {
  const name_tensor *t = name_input(number);
  std::vector<std::int64_t> shape(t ? t->rank : 0);
  check(name_input_shape(number, checked(sizes), shape.data()));
  return shape;
}

/* end */
/* end */
/* if STATES */
// What outlives a run: of no rows at first. A copy goes on from the same rows.
class State {
public:
  State() : words((name_state_bytes() + 7) / 8, 0) {}
  void reset() { words.assign(words.size(), 0); }
  std::int64_t position() const { return name_position(words.data()); }
/* if REWINDS */
  // The last rows are dropped.
  void rewind(std::int64_t rows) { check(name_rewind(words.data(), rows)); }
/* end */
/* if SHAPED */
  // The shape of an input in the next run, of these sizes, in the order of dimensions().
  std::vector<std::int64_t> input_shape(int number/*if SIZED: , const std::vector<std::int64_t> &sizes*/) const {
    const name_tensor *t = name_input(number);
    std::vector<std::int64_t> shape(t ? t->rank : 0);
    check(name_input_shape(number, /*if SIZED: checked(sizes), */words.data(), shape.data()));
    return shape;
  }
/* end */
  // For the functions of the header.
  void *data() { return words.data(); }
  const void *data() const { return words.data(); }

private:
  std::vector<std::uint64_t> words; // aligned to 8 bytes
};

/* end */
// The weights; threads share it.
class Model {
public:
  explicit Model(const std::string &path) {
    name_model *made;
    check(name_create_from_file(path.c_str(), &made));
    model.reset(made, name_destroy);
  }
  // Of weights in memory, which must stay as long as the model and its contexts.
  Model(const void *weights, std::size_t bytes) {
    name_model *made;
    check(name_create(weights, bytes, &made));
    model.reset(made, name_destroy);
  }

private:
  friend class Context;
  std::shared_ptr<name_model> model;
};

// The memory of a run and its threads; one thread at a time uses it. It keeps its model.
class Context {
public:
  explicit Context(const Model &of, int threads = 1) : model(of.model), context(nullptr, name_context_destroy) {
    name_context *made;
    check(name_context_create(model.get(), threads, &made));
    context.reset(made);
  }
  // Memory of each input and each output, in the order of inputs() and outputs()/*if SIZED: ; sizes as dimensions()*/.
  void run(/*if STATES: State &state, *//*if SIZED: const std::vector<std::int64_t> &sizes, */const std::vector<const void *> &in,
           const std::vector<void *> &out) {
    if (in.size() != std::size_t(name_input_count()) || out.size() != std::size_t(name_output_count()))
      throw Error(NAME_WRONG_ARGUMENT);
/* unless SIZED */
    check(name_context_run(context.get(), /*if STATES: state.data(), */in.data(), out.data()));
/* end */
/* if SIZED */
    check(name_context_run_sized(context.get(), /*if STATES: state.data(), */checked(sizes), in.data(), out.data()));
/* end */
  }
/* if VARIES */
  // The shape of an output of the last run.
  std::vector<std::int64_t> output_shape(int number) const {
    const name_tensor *t = name_output(number);
    std::vector<std::int64_t> shape(t ? t->rank : 0);
    check(name_context_output_shape(context.get(), number, shape.data()));
    return shape;
  }
/* end */

private:
  std::shared_ptr<name_model> model;
  std::unique_ptr<name_context, void (*)(name_context *)> context;
};

} // namespace NAME_PREFIX
} // namespace webnn
#endif
