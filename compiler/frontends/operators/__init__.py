"""Operators that TFLite and TensorFlow have in common, on values of the ONNX model."""
