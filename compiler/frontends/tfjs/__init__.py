"""TensorFlow.js models, a file of JSON and shards of weights beside it: `read_shards` reads the weights of all,
`read_model` a model of layers, which are Keras's, or a graph, which is TensorFlow's."""

from .convert import convert
from .describe import describe, shards
from .read_model import read_model

__all__ = ["convert", "describe", "read_model", "shards"]
