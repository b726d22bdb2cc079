"""Classical models: a function for each kind."""

from __future__ import annotations

from .linear_models import LINEAR_MODELS
from .model_call import ModelCall, ModelHandler
from .preparation import PREPARATION
from .support_vectors import SUPPORT_VECTORS
from .suppression import SUPPRESSION
from .trees import TREES

MODELS: dict[str, ModelHandler] = {**LINEAR_MODELS, **PREPARATION, **SUPPRESSION, **SUPPORT_VECTORS, **TREES}
"""By the name of the field of Model.proto."""

__all__ = ["MODELS", "ModelCall"]
