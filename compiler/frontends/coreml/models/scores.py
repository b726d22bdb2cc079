"""Scores of classes by sums, and the transforms that linear models and trees share."""

from __future__ import annotations

import math

from .model_call import ModelCall


def sigmoid(call: ModelCall, sums: str) -> str:
    return call.node("Sigmoid", [sums])


def normal_distribution(call: ModelCall, sums: str) -> str:
    """The cumulative distribution of the normal distribution, the inverse of the probit."""
    error = call.node("Erf", [call.node("Mul", [sums, call.number(math.sqrt(0.5))])])
    return call.node("Mul", [call.node("Add", [error, call.number(1.0)]), call.number(0.5)])


def softmax(call: ModelCall, sums: str) -> str:
    return call.node("Softmax", [sums], axis=1)


def after_zero(call: ModelCall, sums: str) -> str:
    """Sums [1, n + 1] whose first, of the class of reference, is 0."""
    return call.node("Concat", [call.constant([0.0], 1, 1), sums], axis=1)


def of_two(call: ModelCall, second: str) -> str:
    """Probabilities [1, 2] by that of the second class [1, 1]."""
    return call.node("Concat", [call.node("Sub", [call.number(1.0), second]), second], axis=1)


def last_of_highest(call: ModelCall, scores: str) -> str:
    """The place of the highest score; of equal ones the last."""
    return call.node("ArgMax", [scores], axis=1, keepdims=0, select_last_index=1)
