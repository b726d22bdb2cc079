// Reads digits with the example's model as a library, each image on a thread of its own, all with the same weights.
//
//   c++ -std=c++17 -Ilib classify.cpp -Llib -lresnet18_digits -Wl,-rpath,lib -pthread -o classify
//   ./classify lib/resnet18_digits.weights image.f32 ...
#include "resnet18_digits.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>

namespace digits = webnn::resnet18_digits;

static std::size_t classify(const digits::Model &model, const char *path) {
  std::vector<float> image(digits::inputs()[0].bytes / sizeof(float)), logits(digits::outputs()[0].bytes / sizeof(float));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char *>(image.data()), image.size() * sizeof(float)))
    throw std::runtime_error(std::string(path) + ": this is no image of 1024 floats");
  digits::Context(model).run({image.data()}, {logits.data()});
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr << "give the file of weights and images of 1024 floats\n";
    return 2;
  }
  try {
    const digits::Model model(argv[1]);
    std::vector<std::future<std::size_t>> found;
    for (int i = 2; i < argc; i++) found.push_back(std::async(std::launch::async, classify, std::cref(model), argv[i]));
    for (auto &digit : found) std::cout << digit.get() << "\n";
  } catch (const std::runtime_error &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
