"""TensorFlow.js models, a file of JSON and shards of weights beside it: `read_shards` reads the weights of all,
`read_model` those of layers, which are Keras's."""

from ..keras import convert
from .import_model import describe, import_model, shards
from .read_model import read_model

__all__ = ["convert", "describe", "import_model", "read_model", "shards"]
