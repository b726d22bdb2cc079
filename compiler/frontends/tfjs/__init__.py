"""TensorFlow.js models: a file of JSON, and shards of weights beside it."""
