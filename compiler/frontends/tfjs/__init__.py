"""TensorFlow.js models, a file of JSON and shards of weights beside it: `read_shards` reads the weights of all, the
layers of Keras are those of `keras/`."""
