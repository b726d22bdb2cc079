"""Operators of ai.onnx.ml: features, linear models and trees, as the converters of scikit-learn write them."""
