"""Writes decoders with random weights as ONNX, as the exporters that people use do: optimum, both of PyTorch's, and the
builder of onnxruntime-genai. README.md says what each of them needs.

python tests/decoders/export.py --out FOLDER [--size tiny|benchmark] [NAME ...]
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

os.environ["HF_HUB_OFFLINE"] = "1"

import onnx
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor, nn

SEED = 33
SIZES = {
    "tiny": {"layers": 2, "width": 64, "heads": 4, "words": 100, "positions": 256},
    "benchmark": {"layers": 6, "width": 384, "heads": 6, "words": 5000, "positions": 512},
}


def spread(width: int) -> float:
    """A deviation of weights with which greedy decoding neither repeats itself soon nor has near ties."""
    return 1.6 * width**-0.5


def gpt2(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    config = transformers.GPT2Config(
        n_layer=layers,
        n_embd=width,
        n_head=heads,
        vocab_size=words,
        n_positions=positions,
        initializer_range=spread(width),
    )
    return transformers.GPT2LMHeadModel(config)


def llama(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    config = transformers.LlamaConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=2,
        intermediate_size=width * 8 // 3,
        vocab_size=words,
        max_position_embeddings=positions,
        initializer_range=spread(width),
    )
    return transformers.LlamaForCausalLM(config)


def qwen2(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    """Biases of queries, keys and values; the embedding is the output's weights."""
    config = transformers.Qwen2Config(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=2,
        intermediate_size=width * 2,
        vocab_size=words,
        max_position_embeddings=positions,
        initializer_range=spread(width),
        tie_word_embeddings=True,
    )
    return transformers.Qwen2ForCausalLM(config)


def gemma(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    """One head of keys, of a size that is not width / heads; GELU."""
    config = transformers.GemmaConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=1,
        head_dim=2 * width // heads,
        intermediate_size=width * 2,
        vocab_size=words,
        max_position_embeddings=positions,
        initializer_range=spread(width),
    )
    return transformers.GemmaForCausalLM(config)


def whisper(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    config = transformers.WhisperConfig(
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=width * 4,
        decoder_ffn_dim=width * 4,
        vocab_size=words,
        max_target_positions=positions,
        init_std=spread(width),
        pad_token_id=1,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=2,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return transformers.WhisperForConditionalGeneration(config)


def t5(layers: int, width: int, heads: int, words: int, positions: int) -> nn.Module:
    """Positions are in the biases of attention, by buckets of distances, so there may be as many as one likes."""
    config = transformers.T5Config(
        d_model=width,
        d_kv=width // heads,
        d_ff=width * 4,
        num_layers=layers,
        num_heads=heads,
        vocab_size=words,
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


class Flat(nn.Module):
    """A causal model of which the cache is tensors: the keys and values of each layer."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, *past: Tensor
    ) -> tuple[Tensor, ...]:
        cache = transformers.DynamicCache()
        for i, (key, value) in enumerate(zip(past[::2], past[1::2], strict=True)):
            cache.update(key, value, i)
        made = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=cache,
            use_cache=True,
        )
        return (made.logits, *(t for layer in made.past_key_values.layers for t in (layer.keys, layer.values)))


def by_torch(model: nn.Module, folder: Path, dynamo: bool) -> None:
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    past = [f"past_key_values.{i}.{kind}" for i in range(config.num_hidden_layers) for kind in ("key", "value")]
    batch, new, old = 2, 3, 5
    arguments = (
        torch.randint(config.vocab_size, (batch, new)),
        torch.ones(batch, old + new, dtype=torch.int64),
        torch.arange(old, old + new).expand(batch, new).contiguous(),
        *(torch.randn(batch, heads, old, size) for _ in past),
    )
    names = {
        "input_names": ["input_ids", "attention_mask", "position_ids", *past],
        "output_names": ["logits", *(n.replace("past_key_values", "present") for n in past)],
    }
    path = folder / "model.onnx"
    if dynamo:
        b, s, p = (torch.export.Dim(n) for n in ("batch_size", "sequence_length", "past_sequence_length"))
        sizes = ({0: b, 1: s}, {0: b, 1: torch.export.Dim.DYNAMIC}, {0: b, 1: s}, tuple({0: b, 2: p} for _ in past))
        torch.onnx.export(Flat(model), arguments, path, dynamo=True, external_data=False, dynamic_shapes=sizes, **names)
    else:
        text = {0: "batch_size", 1: "sequence_length"}
        axes = {
            "input_ids": text,
            "attention_mask": {0: "batch_size", 1: "total_sequence_length"},
            "position_ids": text,
        }
        axes |= {n: {0: "batch_size", 2: "past_sequence_length"} for n in past}
        torch.onnx.export(Flat(model), arguments, path, dynamo=False, opset_version=17, dynamic_axes=axes, **names)


def by_optimum(model: nn.Module, folder: Path, task: str) -> None:
    """The encoder and the decoders of a model that has both, the latter also merged by an If on `use_cache_branch`."""
    from optimum.exporters.onnx import main_export  # with another version of transformers than the other exporters need

    torch.onnx.export = partial(torch.onnx.export, dynamo=False)  # which older versions of optimum do not state
    model.generation_config = transformers.GenerationConfig.from_model_config(model.config)
    with TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        if isinstance(model, transformers.WhisperForConditionalGeneration):
            transformers.WhisperFeatureExtractor().save_pretrained(saved)
        main_export(saved, folder, task=task, do_validation=False, local_files_only=True)


def by_genai(model: nn.Module, folder: Path, precision: str) -> None:
    with TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        words = Tokenizer(WordLevel({f"w{i}": i for i in range(model.config.vocab_size)}))
        transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(saved)
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", saved, "-o", str(folder)]
        options = ["-p", precision, "-e", "cpu", "-c", saved, "--extra_options", "hf_remote=false"]
        subprocess.run([*builder, *options], check=True)


CAUSAL = (gpt2, llama, qwen2, gemma)
WAYS: dict[str, Callable[[nn.Module, Path], None]] = {
    "optimum": lambda model, folder: by_optimum(model, folder, "text-generation-with-past"),
    "torchscript": lambda model, folder: by_torch(model, folder, dynamo=False),
    "dynamo": lambda model, folder: by_torch(model, folder, dynamo=True),
    "genai-fp32": lambda model, folder: by_genai(model, folder, "fp32"),
    "genai-int4": lambda model, folder: by_genai(model, folder, "int4"),
}
MODELS: dict[str, tuple[Callable[..., nn.Module], Callable[[nn.Module, Path], None]]] = {
    f"{family.__name__}-{way}": (family, export)
    for family in CAUSAL
    for way, export in WAYS.items()
    if family is not gpt2 or not way.startswith("genai")
} | {
    "whisper-optimum": (whisper, lambda m, folder: by_optimum(m, folder, "automatic-speech-recognition-with-past")),
    "t5-optimum": (t5, lambda m, folder: by_optimum(m, folder, "text2text-generation-with-past")),
}


TABLES = re.compile("(cos|sin)_cache|_scales$")
"""Names of constants that are no weights: of angles, and of the scales of weights in few bits."""

LEAST = 256
"""Elements of the largest constant that stays in a file without weights."""


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types and shapes of its weights, without their elements, and without stack traces."""
    for graph in (model.graph, *(a.g for node in model.graph.node for a in node.attribute if a.HasField("g"))):
        for tensor in graph.initializer:
            if prod(tensor.dims) > LEAST and not TABLES.search(tensor.name):
                tensor.ClearField("raw_data")
                tensor.ClearField("float_data")
        for node in graph.node:
            del node.metadata_props[:]
            node.ClearField("doc_string")
        del graph.value_info[:]
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", choices=[*SIZES], default="tiny")
    parser.add_argument("--without-weights", action="store_true", help="small files, for tests")
    parser.add_argument("--suffix", default="", help="of the files' names")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name in options.names or MODELS:
        family, export = MODELS[name]
        torch.manual_seed(SEED)
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        with torch.no_grad():
            export(family(**SIZES[options.size]).eval(), folder)
        for path in sorted(folder.glob("*.onnx")):
            model = onnx.load(path)
            if options.without_weights:
                stem = {"model": name}.get(path.stem, f"{name}-{path.stem}")
                with gzip.GzipFile(options.out / f"{stem}{options.suffix}.onnx.gz", "wb", mtime=0) as file:
                    file.write(without_weights(model).SerializeToString())
            print(f"{name} {path.name}: {model.ByteSize() // 1024} KB, {len(model.graph.node)} nodes", flush=True)
        if options.without_weights:
            rmtree(folder)


if __name__ == "__main__":
    main()
