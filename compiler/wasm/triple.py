"""LLVM's triple of wasm32, and its layout of data."""

from __future__ import annotations

TRIPLE = "wasm32-unknown-unknown"
DATA_LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
# What every module of LLVM IR for this target begins with.
HEADER = f'target triple = "{TRIPLE}"\ntarget datalayout = "{DATA_LAYOUT}"\n'
