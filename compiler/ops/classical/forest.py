"""Trees of ai.onnx.ml as tables, from the two forms that its versions have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..call import Array, Call
from .features import float_type, invalid

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""Comparisons of a feature with a node's value, in the order of their numbers in TreeEnsemble."""

_MOST_WEIGHTS = 1 << 27
"""Elements of the table of leaves and sums."""

_EQ, _MEMBER, _LEAF = MODES.index("BRANCH_EQ"), MODES.index("BRANCH_MEMBER"), len(MODES)


@dataclass(frozen=True, slots=True)
class Forest:
    """Branches [n] compare a `feature` with a `value` by a mode; `true` and `false` are the branch that follows, or n +
    the leaf. With `missing` NaN goes the way of what is true. `roots` [trees] are such numbers, too. `steps` is the
    length of the longest path. A leaf's weights are those of the `targets` of its row, in `weights`, NaN elsewhere."""

    feature: Array
    value: Array
    mode: Array
    missing: Array
    true: Array
    false: Array
    roots: Array
    steps: int
    weights: Array


def read_forest(call: Call, kind: str, targets: int) -> Forest:
    """The trees of TreeEnsembleRegressor (`kind` "target") or TreeEnsembleClassifier ("class"), whose nodes are named
    by tree and node. Raises UnsupportedError for what is no forest."""
    _check_counts(call, kind)
    trees, numbers = _ints(call, "nodes_treeids"), _ints(call, "nodes_nodeids")
    key = {node: i for i, node in enumerate(zip(trees, numbers, strict=True))}
    names: tuple[str, ...] = call.attribute("nodes_modes", ())
    modes = [_mode(call, name) for name in names]
    branches = [i for i, mode in enumerate(modes) if mode != _LEAF]
    leaves = [i for i, mode in enumerate(modes) if mode == _LEAF]
    place = {node: i for i, node in enumerate((*branches, *leaves))}

    def follow(name: str) -> list[int]:
        ids = _ints(call, name)
        nodes = [key.get((trees[i], ids[i])) for i in branches]
        if None in nodes:
            raise invalid(call, f"{name} has a number that no node of its tree has")
        return [place[n] for n in nodes if n is not None]

    true, false = follow("nodes_truenodeids"), follow("nodes_falsenodeids")
    inner = {*true, *false}
    roots = [n for n in place.values() if n not in inner]
    if len(roots) != len(set(trees)):
        raise invalid(call, f"{len(set(trees))} trees have {len(roots)} roots")
    _check_reached(call, true, false, roots)
    weights = _no_weights(call, len(leaves), targets)
    nodes = zip(_ints(call, f"{kind}_treeids"), _ints(call, f"{kind}_nodeids"), strict=True)
    _add(call, weights, ((place.get(key.get(n, -1), -1) - len(branches)) for n in nodes), kind)
    flags = _ints(call, "nodes_missing_value_tracks_true") or (0,) * len(modes)
    ids = _ints(call, "nodes_featureids")
    return _forest(
        call,
        feature=[ids[i] for i in branches],
        value=np.asarray(_values(call, "nodes_values"), _numbers(call))[branches],
        mode=[modes[i] for i in branches],
        missing=[flags[i] for i in branches],
        true=true,
        false=false,
        roots=roots,
        weights=weights,
    )


def _add(call: Call, weights: Array, leaves: Iterable[int], kind: str) -> None:
    """Adds the weights of a node's attributes to rows of leaves."""
    for leaf, target, weight in zip(leaves, _ints(call, f"{kind}_ids"), _values(call, f"{kind}_weights"), strict=True):
        if leaf < 0 or not 0 <= target < weights.shape[1]:
            raise invalid(call, f"{kind}_ids or {kind}_nodeids name a {kind} or a leaf that is not there")
        weights[leaf, target] = weight if np.isnan(weights[leaf, target]) else weights[leaf, target] + weight


def read_ensemble(call: Call, targets: int) -> Forest:
    """The trees of TreeEnsemble, whose branches are numbered. A branch by membership becomes one for each member."""
    none = np.zeros(0)
    features, true, false = (_ints(call, f"nodes_{n}") for n in ("featureids", "truenodeids", "falsenodeids"))
    true_leaf, false_leaf = _ints(call, "nodes_trueleafs"), _ints(call, "nodes_falseleafs")
    modes = call.attribute("nodes_modes", none).astype(np.int64).tolist()
    splits = call.attribute("nodes_splits", none).astype(_numbers(call))
    members = iter(_members(call.attribute("membership_values", none).astype(_numbers(call))))
    flags = _ints(call, "nodes_missing_value_tracks_true") or (0,) * len(modes)
    count = len(modes)
    if any(len(c) != count for c in (features, true, false, true_leaf, false_leaf, splits, flags)) or not count:
        raise invalid(call, "the lists of its nodes differ in length")
    leaf_weights, leaf_targets = call.attribute("leaf_weights", none), _ints(call, "leaf_targetids")
    if len(leaf_weights) != len(leaf_targets) or not all(0 <= t < targets for t in leaf_targets):
        raise invalid(call, "leaf_targetids do not fit leaf_weights or n_targets")
    sets = [next(members, ()) if m == _MEMBER else (float(v),) for m, v in zip(modes, splits, strict=True)]
    starts = [0, *accumulate(max(len(s), 1) for s in sets)]
    total = starts[-1]

    def after(child: int, is_leaf: int) -> int:
        if not 0 <= child < (len(leaf_weights) if is_leaf else count):
            raise invalid(call, f"a node is followed by {child}, which is not there")
        return total + child if is_leaf else starts[child]

    column: dict[str, list[int]] = {n: [] for n in ("feature", "mode", "missing", "true", "false")}
    for i, members_of in enumerate(sets):
        number = max(len(members_of), 1)
        otherwise = [*range(starts[i] + 1, starts[i] + number), after(false[i], false_leaf[i])]
        column["feature"] += [features[i]] * number
        column["mode"] += [_EQ if modes[i] == _MEMBER else modes[i]] * number
        column["missing"] += [flags[i]] * number
        column["true"] += [after(true[i], true_leaf[i])] * number
        column["false"] += otherwise
    values = np.asarray([v for s in sets for v in s or (np.nan,)], _numbers(call))
    weights = _no_weights(call, len(leaf_weights), targets)
    weights[np.arange(len(leaf_weights)), leaf_targets] = leaf_weights
    roots = [after(root, 0) for root in _ints(call, "tree_roots")]
    return _forest(call, value=values, roots=roots, weights=weights, **column)


def _no_weights(call: Call, leaves: int, targets: int) -> Array:
    if targets < 1 or leaves * targets > _MOST_WEIGHTS:
        raise invalid(call, f"{leaves} leaves have weights of {targets} sums")
    return np.full((leaves, targets), np.nan, _numbers(call))


def _members(values: Array) -> list[tuple[float, ...]]:
    """The sets of a list that NaN divides."""
    sets: list[list[float]] = [[]]
    for v in values.tolist():
        if np.isnan(v):
            sets.append([])
        else:
            sets[-1].append(v)
    return [tuple(s) for s in sets]


def _forest(
    call: Call,
    *,
    feature: Sequence[int],
    value: Array,
    mode: Sequence[int],
    missing: Sequence[int],
    true: Sequence[int],
    false: Sequence[int],
    roots: Sequence[int],
    weights: Array,
) -> Forest:
    width = call.fixed(call.input(0), (-1,))[0]
    wrong = next((f for f in feature if not 0 <= f < width), None)
    if wrong is not None:
        raise invalid(call, f"a branch compares feature {wrong} of {width}")
    if any(not 0 <= m < _MEMBER for m in mode):
        raise invalid(call, "the mode of a branch does not exist")
    yes, no, firsts = (np.asarray(a, np.int32) for a in (true, false, roots))
    return Forest(
        np.asarray(feature, np.int32),
        value,
        np.asarray(mode, np.int32),
        np.asarray([flag != 0 for flag in missing], np.int32),
        yes,
        no,
        firsts,
        _longest(call, yes, no, firsts),
        weights,
    )


def _longest(call: Call, true: Array, false: Array, roots: Array) -> int:
    """Branches on the longest path."""
    steps, at = 0, np.unique(roots[roots < len(true)])
    while at.size:
        steps += 1
        if steps > len(true):
            raise invalid(call, "its nodes form a cycle")
        following = np.unique(np.concatenate([true[at], false[at]]))
        at = following[following < len(true)]
    return steps


def _check_reached(call: Call, true: Sequence[int], false: Sequence[int], roots: Iterable[int]) -> None:
    """Raises UnsupportedError for branches that no root leads to: they lead to each other."""
    waiting, reached = list(roots), set[int]()
    while waiting:
        node = waiting.pop()
        if node < len(true) and node not in reached:
            reached.add(node)
            waiting += true[node], false[node]
    if len(reached) < len(true):
        raise invalid(call, f"{len(true) - len(reached)} of its nodes are not part of a tree")


def _check_counts(call: Call, kind: str) -> None:
    names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    counts = {len(call.attribute(f"nodes_{n}", ())) for n in names} | {len(_values(call, "nodes_values"))}
    flags = len(_ints(call, "nodes_missing_value_tracks_true"))
    of_leaves = {len(_ints(call, f"{kind}_{n}")) for n in ("treeids", "nodeids", "ids")}
    of_leaves.add(len(_values(call, f"{kind}_weights")))
    if len(counts) > 1 or flags not in (0, *counts) or len(of_leaves) > 1 or counts == {0}:
        raise invalid(call, "the lists of its nodes differ in length")


def _mode(call: Call, name: str) -> int:
    if name == "LEAF":
        return _LEAF
    if name not in MODES[:_MEMBER]:
        raise call.unsupported(f"a node has mode {name!r}", "the model is invalid")
    return MODES.index(name)


def _numbers(call: Call) -> np.dtype[np.generic]:
    """The type of values and weights: that in which the features are compared."""
    return float_type(call.input(0)).numpy


def _ints(call: Call, name: str) -> tuple[int, ...]:
    return call.attribute(name, ())


def _values(call: Call, name: str) -> Sequence[float]:
    """A list of floats, or the tensor that stands for it."""
    tensor: Array = call.attribute(f"{name}_as_tensor", np.zeros(0))
    floats: tuple[float, ...] = call.attribute(name, ())
    return tensor.reshape(-1).tolist() if tensor.size else floats


def base_values(call: Call) -> Sequence[float]:
    """Numbers that are added to the sums of trees."""
    return _values(call, "base_values")
