"""How much runs: `pytest --effort check|ci|all`, where `ci`, the default, is what a change must pass.

This is the one place that says what `make check` leaves to CI, and what CI leaves to `make test-all`.

Selections go by names, so a test or a row is taken or left whatever stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal, cast
from zlib import crc32

import pytest

Effort = Literal["check", "ci", "all"]

ROWS_OF_BACKENDS: Mapping[Effort, Mapping[str, int]] = {
    "check": {"evaluate": 8, "native": 8}
    | dict.fromkeys(("c", "wasm", "wasm-relaxed", "wasm-signed", "webgpu", "webgl", "opencl", "cuda"), 64),
    "ci": {"opencl": 32, "cuda": 48, "c": 32, "wasm-relaxed": 16, "wasm-signed": 16},
    "all": {},
}
"""By backend: every so many rows of the operator table, where not all run. A new backend has an 8 under `ci`. CUDA is
emulated where there is no such GPU, which takes a second for a row."""

ROWS_IN_TURN: Mapping[Effort, Sequence[Sequence[str]]] = {"ci": (("webgpu", "webgl"), ("wasm", "native"))}
"""Backends of which each row, but for programs of many kernels, runs on one: GPUs differ in how the constructs of
kernels are written, processors in the width of vectors and in linking, and each has hundreds of rows."""

ROWS_IN_BROWSERS: Mapping[Effort, int] = {"check": 1, "ci": 16, "all": 1}
"""Every so many of those run as bundles in a browser, too."""

MANY_KERNELS = (
    *("attention", "compress", "decodermaskedmultiheadattention", "dynamicquantizelstm", "groupqueryattention"),
    *("gru", "lstm", "multiheadattention", "nonmaxsuppression", "nonzero", "rnn", "sampletoken", "topk", "unique"),
)
"""How rows begin that are programs of many kernels: loops, sorting."""

ROWS_OF_MANY_KERNELS: Mapping[Effort, Mapping[str, int]] = {
    "ci": {"native": 4, "webgpu": 7, "webgl": 7, "opencl": 16, "cuda": 16}
}
"""By backend, which may be a browser's: of those rows every so many, where its driver takes long to compile them."""

SPECIAL_ROWS: Mapping[Effort, Mapping[str, int]] = {
    "check": {"native": 256},
    "ci": {"native": 16, "wasm": 256, "webgpu": 256, "webgl": 256, "c": 512},
    "all": {"native": 1}
    | dict.fromkeys(("wasm", "wasm-relaxed", "webgpu", "webgl", "c", "opencl"), 8)
    | {"wasm-signed": 64, "cuda": 64},
}
"""By target: of the rows with NaN, infinities and the ends of integers every so many; none of other targets."""

TARGETS: Mapping[Effort, Mapping[str, int]] = {
    "ci": {"wasm-relaxed": 2, "wasm-signed": 2, "opencl": 6, "cuda": 4, "c": 4}
}
"""By target: of all other tests with the parameter `target` every so many, where not all run. Other compilers take most
of their time, or an emulation of the device; relaxed and signed wasm differ from wasm by a few instructions."""

PROVED_ROWS: Mapping[Effort, int] = {"check": 8, "ci": 8, "all": 1}
"""Every so many rows whose accesses are proved for all targets (`test_kernel_bounds`)."""

TINT_ROWS: Mapping[Effort, int] = {"check": 8, "ci": 6, "all": 1}
"""Every so many rows whose kernels another compiler of WGSL checks (`wgsl/test_tint`)."""

NODE_TESTS: Mapping[Effort, Mapping[str, int]] = {
    "check": {"native": 8} | dict.fromkeys(("wasm", "c", "opencl", "cuda"), 64),
    "ci": {"native": 12, "wasm": 32, "c": 64, "opencl": 48, "cuda": 128},
    "all": {},
}
"""By target: of ONNX's node tests every so many, where not all run. What they show of an operator, the table shows of
other targets."""

NETWORKS_ON_BACKENDS = {
    "wasm-relaxed": 8,
    "wasm-signed": 64,
    "webgpu": 8,
    "webgl": 3,
    "c": 16,
    "opencl": 24,
    "cuda": 16,
}
"""By target: of the exported networks every so many, unless all run: they take seconds each, and browsers run every one
(`e2e/test_exported_models`)."""

TRIPLES: Mapping[Effort, int] = {"check": 48, "ci": 100, "all": 2000}
"""Triples of kernel, choices and target, drawn by `schedule/test_choices`."""

PROGRAMS: Mapping[Effort, Mapping[str, int]] = {
    "check": {"native": 4},
    "ci": {"native": 4, "c": 1, "opencl": 1},
    "all": {},
}
"""By target: so many random programs with control flow, and as many without it (`test_random_programs`)."""

FEW_PROGRAMS: Mapping[Effort, int] = {"check": 1, "ci": 2, "all": 250}
"""On the other targets."""

QUANTA: Mapping[Effort, Mapping[str, int]] = {
    "check": {"native": 12, "wasm": 2},
    "ci": {
        "native": 12,
        "wasm": 4,
        "wasm-relaxed": 4,
        "wasm-signed": 4,
        "c": 2,
        "opencl": 2,
        "webgpu": 3,
        "webgl": 3,
    },
    "all": dict.fromkeys(("native", "wasm", "wasm-relaxed", "wasm-signed", "c"), 2000)
    | dict.fromkeys(("opencl", "webgpu", "webgl"), 300),
}
"""By target: so many random graphs of quantised tensors (`test_random_quanta`)."""

STATES: Mapping[Effort, Mapping[str, int]] = {
    "check": {"native": 4},
    "ci": {"native": 8, "wasm": 4, "webgpu": 4, "webgl": 4},
    "all": {"native": 300} | dict.fromkeys(("wasm", "wasm-relaxed", "webgpu", "webgl", "opencl"), 100),
}
"""By target: so many random models with states (`test_random_states`)."""

SEQUENCES: Mapping[Effort, int] = {"check": 2, "ci": 8, "all": 100}
"""So many random sequences of what changes states, on each path (`test_state_sequences`)."""

VARIANTS_OF_NODES: Mapping[Effort, int] = {"check": 64, "ci": 32, "all": 1}
"""Every so many of the small changes to a node (`fuzz/vary_node`) run; there are 98,000."""

DAMAGED_FILES: Mapping[Effort, int] = {"check": 20, "ci": 50, "all": 2000}
"""So many damaged files of each model, in each format (`test_tflite_files`, `test_keras_files`, ...; those of ONNX and
of weights beside a model: `test_damaged_files`)."""

FUZZ_CASES: Mapping[Effort, Mapping[str, int]] = {
    "check": {"bytes": 10, "protobuf": 20, "nodes": 50, "graphs": 2, "quanta": 2, "names": 1, "page": 1},
    "ci": {"bytes": 50, "protobuf": 120, "nodes": 250, "graphs": 8, "quanta": 8, "names": 2, "page": 10},
    "all": {"bytes": 100, "protobuf": 240, "nodes": 500, "graphs": 16, "quanta": 16, "names": 3, "page": 30},
}
"""By kind: so many cases of fixed seeds (`fuzz/test_fuzz`)."""

PHOTOGRAPHS: Mapping[Effort, int] = {"check": 3, "ci": 3, "all": 12}
"""So many photographs for GPUs (`e2e/test_photographs`), which are in software in CI: a run takes two seconds."""

BROKEN_MODELS: Mapping[Effort, Sequence[str]] = {
    "check": (),
    "ci": ("digits",),
    "all": ("digits", "encoder", "resnet18", "mobilenetv2", "bert", "silero", "quantised"),
}
"""Models of which runs on broken GPUs are tried (`e2e/test_broken_models`)."""

FEW = 8
"""Parameter sets of a function beyond which `check` takes every so many."""

SAMPLED: Mapping[str, int] = {
    "e2e/abort/test_silence.py::test_a_file_that_stalls": 3,
    "e2e/in_page/test_compile_in_page.py::test_models_give_the_command_lines_files_and_the_references_results": 2,
    "e2e/in_page/test_starts_and_ends.py::test_a_compiler_that_does_not_arrive_is_an_error": 2,
    "e2e/test_answers.py::test_boxes": 2,
    "e2e/test_control_flow.py::test_any_size_and_any_way": 2,
    "e2e/test_device_sessions.py::test_models_of_each_kind_find_what_runs_have_left": 4,
    "e2e/test_device_sessions.py::test_random_sequences": 2,
    "e2e/test_devices.py::test_500_runs_create_nothing": 2,
    "e2e/test_remote_target.py::test_rows_of_the_operator_table": 2,
    "e2e/test_tune.py::test_a_search_is_interrupted_resumed_and_used": 5,
    "tests/c/test_op_table_in_c.py::test_operator": 4,
    "tests/cli/test_command_line.py::test_dump_after_every_stage": 9,
    "tests/compile_page/test_answer.py::test_states_are_those_of_the_command_line": 3,
    "tests/docs/test_blocks.py::test_commands": 2,
    "tests/frontends/test_caffe.py::test_layer": 8,
    "tests/frontends/test_caffe.py::test_layer_as_opencv_has_it": 8,
    "tests/frontends/test_coreml_networks.py::test_layers": 2,
    "tests/frontends/test_coreml_programs.py::test_operations": 2,
    "tests/frontends/test_estimators.py::test_results_are_those_of_onnxruntime": 6,
    "tests/frontends/test_keras.py::test_as_tensorflow_js": 2,
    "tests/frontends/test_keras.py::test_layer": 6,
    "tests/frontends/test_mxnet.py::test_operator": 8,
    "tests/frontends/test_tensorflow_operators.py::test_operator": 6,
    "tests/frontends/test_tflite_networks.py::test_network": 8,
    "tests/frontends/test_tflite_networks.py::test_no_kernel_transposes": 3,
    "tests/frontends/test_tflite_operators.py::test_operator": 4,
    "tests/frontends/test_tiny_networks.py::test_classes_of_mlperf_tiny": 2,
    "tests/frontends/test_tiny_networks.py::test_network_in_float32": 6,
    "tests/frontends/test_tiny_networks.py::test_no_kernel_of_a_mobilenet_transposes": 2,
    "tests/frontends/test_tiny_networks.py::test_quantised_network": 16,
    "tests/generation/test_generate.py::test_tokens_are_those_of_the_reference": 2,
    "tests/gpu/test_extremes.py::test_extremes": 2,
    "tests/gpu/test_winograd_on_devices.py::test_a_device_computes_by_tiles": 6,
    "tests/graph/test_integer_products.py::test_products_of_activations": 2,
    "tests/graph/test_integer_products.py::test_products_of_quanta": 2,
    "tests/graph/test_passes.py::test_light_models": 3,
    "tests/graph/test_tile_attention.py::test_numbers": 2,
    "tests/graph/test_tile_attention.py::test_queries_whose_number_varies": 2,
    "tests/ops/test_along_sizes_that_vary.py::test_every_length_elsewhere": 4,
    "tests/ops/test_resize_varying.py::test_by_scales": 8,
    "tests/ops/test_resize_varying.py::test_to_sizes_of_a_run": 8,
    "tests/pictures/test_take_pictures.py::test_targets": 2,
    "tests/schedule/test_schedule_cpu.py::test_overlapping_windows": 2,
    "tests/schedule/test_schedule_cpu.py::test_pictures_are_quantised_in_vectors_of_pixels": 2,
    "tests/schedule/test_schedule_cpu.py::test_short_products_have_all_panels_in_one_function": 2,
    "tests/schedule/test_tensorize.py::test_products_of_workgroups": 2,
    "tests/schedule/test_word_products.py::test_rows_of_windows_of_few_channels_are_words": 4,
    "tests/schedule/test_word_products.py::test_transposed_operands_are_stored_along_rows": 2,
    "tests/tensor/test_winograd.py::test_every_target_computes_by_tiles": 12,
    "tests/tensor/test_winograd.py::test_in_bands": 12,
    "tests/test_compile.py::test_garbage_collection": 2,
    "tests/test_compile_time.py::test_work_grows_like_the_model": 2,
    "tests/test_control_flow.py::test_any_size_and_any_way": 4,
    "tests/test_decoders.py::test_generated_tokens": 3,
    "tests/test_decoders.py::test_the_first_tokens_on_other_targets": 12,
    "tests/test_decoders.py::test_tokens_of_both_branches": 2,
    "tests/test_decoders.py::test_tokens_of_both_branches_with_the_cache_as_a_state": 2,
    "tests/test_decoders.py::test_tokens_with_the_cache_as_a_state": 4,
    "tests/test_decoders.py::test_tokens_with_the_cache_handed_on": 8,
    "tests/test_dynamic_sizes.py::test_any_sizes": 2,
    "tests/test_exported_models.py::test_agrees_with_onnxruntime_at_every_size": 6,
    "tests/test_fast_sizes.py::test_each_size_may_be_fast": 2,
    "tests/test_fast_sizes.py::test_structures_in_both_ways": 2,
    "tests/test_large_models.py::test_long_chains": 4,
    "tests/test_large_models.py::test_wide_nodes": 6,
    "tests/test_light_models.py::test_agrees_with_the_reference_output": 10,
    "tests/test_light_models.py::test_with_random_weights_agrees_with_onnxruntime": 4,
    "tests/test_long_sums.py::test_long_sums": 10,
    "tests/test_models.py::test_agrees_with_onnxruntime": 4,
    "tests/test_nested_structures.py::test_nested": 2,
    "tests/test_prepared_constants.py::test_what_is_shipped_and_results": 4,
    "tests/test_quantised_models.py::test_keyword_spotting": 2,
    "tests/test_quantised_models.py::test_results_are_within_a_step": 8,
    "tests/test_random_graphs.py::test_random_graph": 2,
    "tests/test_random_models.py::test_random_model": 2,
    "tests/test_records_in_builds.py::test_results_by_records": 2,
    "tests/test_stages.py::test_stages": 4,
    "tests/test_state_windows.py::test_decoders_as_exporters_write_them": 12,
    "tests/test_states.py::test_runs_find_what_those_before_have_left": 3,
    "tests/test_states.py::test_states_are_saved_and_loaded_forked_and_reset": 2,
    "tests/test_verify.py::test_decoders_of_exporters": 2,
    "tests/tune/test_trials.py::test_candidates_beside_each_other_are_right": 2,
    "tests/wasm/test_function_sizes.py::test_networks": 3,
}
"""Functions of which CI takes one parameter set in so many."""

IN_BOTH = (
    "e2e/test_auto.py",
    "e2e/test_demo_page.py",
    "e2e/test_devices.py",
    "e2e/test_dtypes.py",
    "e2e/test_half_states.py",
    "e2e/test_isolation.py",
    "e2e/test_load_and_run.py",
    "e2e/test_mailbox.py",
    "e2e/test_offline.py",
    "e2e/test_op_table_devices.py",
    "e2e/test_photographs.py",
    "e2e/test_threads.py",
    "e2e/test_trusted_types.py",
)
"""Files whose tests CI runs in both browsers: what starts, and what browsers have of their own. Tests of all others run
in one of the two, some in each."""

BROWSERS = ("chromium", "firefox")

LEFT_TO_CI = (
    "e2e/",
    "tests/benchmarks/",
    "tests/docs/test_site.py",
    "tests/cli/test_command_line.py::test_dump_after_every_stage",
    "tests/cli/test_command_line.py::test_same_bytes_from_processes_with_different_hashes",
    "tests/gpu/test_dynamic_quantisation.py::test_bits",
    "tests/gpu/test_winograd_on_devices.py",
    "tests/fuzz/",
    "tests/compile_page/test_build_page.py",
    "tests/compile_page/test_lock.py",
    "tests/quantization/test_resnet18.py",
    "tests/schedule/test_schedule_cpu.py::test_short_products_have_all_panels_in_one_function",
    "tests/test_cache.py",
    "tests/test_compile_ahead.py",
    "tests/test_decoders.py::test_tokens_of_one_branch_each",
    "tests/test_examples.py",
    "tests/test_large_models.py",
    "tests/test_light_models.py",
    "tests/test_quantised_models.py::test_layers_alone_are_within_a_step",
    "tests/wasm/test_function_sizes.py",
    "tests/wgsl/test_tint.py::test_kernels_of_the_operator_table",
)
"""Tests that `check` does not run: browsers, other programs, and tests that take many seconds each. Prefixes of node
ids."""


def every_nth_row(name: str, n: int) -> bool:
    """Whether `name` is among the one in `n` that runs; all do where `n` is 1."""
    return crc32(name.encode()) % n == 0


def row_runs(row: str, backend: str, effort: Effort) -> bool:
    """Whether the row of the operator table runs on the backend."""
    turns = () if row.startswith(MANY_KERNELS) else ROWS_IN_TURN.get(effort, ())
    for i, turn in enumerate(turns):
        if backend in turn and backend != turn[(crc32(f"in turn {row}".encode()) >> i) % len(turn)]:
            return False
    fewer = ROWS_OF_MANY_KERNELS.get(effort, {}) if row.startswith(MANY_KERNELS) else {}
    return every_nth_row(row, max(fewer.get(backend, 1), ROWS_OF_BACKENDS[effort].get(backend, 1)))


def special_row_runs(row: str, target: str, effort: Effort) -> bool:
    """Whether the row runs on the target with NaN, infinities and the ends of integers (`test_special_values`)."""
    n = SPECIAL_ROWS[effort].get(target)
    return n is not None and every_nth_row(f"special {row}", n)


def network_runs(network: str, backend: str, effort: Effort) -> bool:
    """Whether the exported network runs on the backend."""
    return effort == "all" or every_nth_row(f"{network}-{backend}", NETWORKS_ON_BACKENDS.get(backend, 1))


def target_of(item: pytest.Item) -> str:
    """The test's parameter `target`; "None" where it has none."""
    return str(getattr(getattr(item, "callspec", None), "params", {}).get("target"))


def effort_of(config: pytest.Config) -> Effort:
    return cast(Effort, config.getoption("effort"))


def leave_to_ci(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of `check` among all collected ones, and the others. Rows of the operator table are chosen by now."""
    sets: dict[str, int] = {}
    for item in items:
        sets[_function(item)] = sets.get(_function(item), 0) + 1
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        many = sets[_function(item)] > FEW and item.get_closest_marker("every_row") is None
        runs = not item.nodeid.startswith(LEFT_TO_CI) and (not many or every_nth_row(item.nodeid, FEW))
        (chosen if runs else left).append(item)
    return chosen, left


def leave_to_all(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of CI among all collected ones, and the others."""
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    ids = {item.nodeid for item in items}
    for item in items:
        of_target = TARGETS["ci"].get(target_of(item), 1) if item.get_closest_marker("every_row") is None else 1
        n = max(SAMPLED.get(_function(item), 1), of_target)
        runs = every_nth_row(item.nodeid, n) and _has_its_turn(item.nodeid, ids)
        (chosen if runs else left).append(item)
    return chosen, left


def _has_its_turn(nodeid: str, ids: Set[str]) -> bool:
    """Whether it runs in its browser, or is among `ids` for no other."""
    named = [browser for browser in BROWSERS if browser in nodeid]
    if not named or not nodeid.startswith("e2e/") or nodeid.startswith(IN_BOTH):
        return True
    if {nodeid.replace(named[0], browser) for browser in BROWSERS} - ids:
        return True
    return BROWSERS[crc32(nodeid.replace(named[0], "").encode()) % len(BROWSERS)] == named[0]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
