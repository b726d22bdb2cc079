"""Licences of the packages that the wheel and its extras require, as expressions of SPDX.

A table, so that a bill of materials is the same whichever of them are installed where it is made.
"""

from __future__ import annotations

from collections.abc import Mapping

LICENCES: Mapping[str, str] = {
    "ai-edge-litert": "Apache-2.0",
    "brotli": "MIT",
    "build": "MIT",
    "click": "BSD-3-Clause",
    "cryptography": "Apache-2.0 OR BSD-3-Clause",
    "cuda-bindings": "Apache-2.0",
    "cyclonedx-python-lib": "Apache-2.0",
    "flatbuffers": "Apache-2.0",
    "h5py": "BSD-3-Clause",
    "huggingface-hub": "Apache-2.0",
    "hypothesis": "MPL-2.0",
    "jinja2": "BSD-3-Clause",
    "lightgbm": "MIT",
    "llvmlite": "BSD-2-Clause AND Apache-2.0 WITH LLVM-exception",
    "matplotlib": "PSF-2.0",
    "mkdocs-material": "MIT",
    "mkdocstrings": "ISC",
    "mypy": "MIT",
    "numpy": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "nvidia-cuda-nvrtc": "LicenseRef-NVIDIA-Proprietary",
    "onnx": "Apache-2.0",
    "onnxmltools": "Apache-2.0",
    "onnxruntime": "MIT",
    "onnxscript": "MIT",
    "pillow": "MIT-CMU",
    "platformdirs": "MIT",
    "playwright": "Apache-2.0",
    "pyopencl": "MIT",
    "pytest": "MIT",
    "pytest-xdist": "MIT",
    "rich": "MIT",
    "ruff": "MIT",
    "scikit-learn": "BSD-3-Clause",
    "segno": "BSD-3-Clause",
    "setuptools": "MIT",
    "skl2onnx": "Apache-2.0",
    "tflite": "Apache-2.0",
    "tokenizers": "Apache-2.0",
    "torch": "BSD-3-Clause",
    "wasmtime": "Apache-2.0 WITH LLVM-exception",
    "websockets": "BSD-3-Clause",
    "wgpu": "BSD-2-Clause",
    "xgboost-cpu": "Apache-2.0",
    "ziglang": "MIT",
}
"""By names in their canonical form."""
