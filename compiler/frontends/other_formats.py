"""Files that no importer reads, by their first bytes and names: what they are, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

FROM_PYTORCH = "export the model to ONNX, with torch.onnx.export(model, inputs, 'model.onnx')"
TO_ONNX = f"{FROM_PYTORCH} in PyTorch, or give the folder of a SavedModel of TensorFlow"
_FROM_TREES = "convert it to ONNX, with onnxmltools.convert_"
_FROM_SCIKIT = "convert it to ONNX, with skl2onnx.to_onnx(model, examples)"


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """Has `first_bytes` from `offset` on, or one of `suffixes`. Models whose files begin so, too, have one of the
    suffixes `models`."""

    what: str
    advice: str
    first_bytes: bytes
    offset: int = 0
    suffixes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


GIT_LFS = OtherFormat(
    "a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`", b"version https://git-lfs"
)

OTHER_FORMATS = (
    GIT_LFS,
    OtherFormat(
        "a zip archive (perhaps a PyTorch checkpoint)",
        f"unpack it and give the file or folder inside, or {FROM_PYTORCH}",
        b"PK\x03\x04",
        0,
        (".pt", ".pth"),
        (".keras", ".pt2"),
    ),
    OtherFormat("a Python pickle (perhaps a PyTorch checkpoint)", FROM_PYTORCH, b"\x80\x02", 0, (".pkl",)),
    *(
        OtherFormat("a Python pickle (perhaps a model of scikit-learn)", _FROM_SCIKIT, start, 0, (".joblib",))
        for start in (b"\x80\x03", b"\x80\x04", b"\x80\x05")
    ),
    OtherFormat("a model of LightGBM", f"{_FROM_TREES}lightgbm", b"tree\nversion="),
    *(
        OtherFormat("a model of XGBoost", f"{_FROM_TREES}xgboost", start, 0, (".ubj",))
        for start in (b"{L\0\0\0\0\0\0\0\x07learner", b'{"learner"')
    ),
    OtherFormat("weights of a language model (GGUF)", "export the model that they were made from to ONNX", b"GGUF"),
    OtherFormat("XML (perhaps a model of OpenVINO)", "give the model that it was converted from", b"<?xml"),
    OtherFormat("weights without a model (safetensors)", FROM_PYTORCH, b"\0\0\0\0{", 4, (".safetensors",)),
    OtherFormat(
        "a model in onnxruntime's own format", "give the .onnx file that it was made from", b"ORTM", 4, (".ort",)
    ),
    *(
        OtherFormat(f"a picture ({kind})", "give the file of the model; pictures are for its runs", start, offset)
        for kind, start, offset in (("JPEG", b"\xff\xd8\xff", 0), ("PNG", b"\x89PNG", 0), ("WebP", b"WEBP", 8))
    ),
    OtherFormat("a document (PDF)", "give the file of the model", b"%PDF"),
    OtherFormat("a text file, perhaps a web page saved in place of the model", "download the model again", b"<"),
)


def find_other_format(data: bytes, suffix: str = "") -> OtherFormat | None:
    """By the first bytes; by the suffix of the name, in lower case, where these say nothing."""
    for f in OTHER_FORMATS:
        # White space may stand before text; a message of protobuf may begin with the same bytes.
        if data[f.offset :].startswith(f.first_bytes) or (f.first_bytes == b"<" and _is_markup(data)):
            return f
    return next((f for f in OTHER_FORMATS if suffix and suffix in f.suffixes), None)


def _is_markup(data: bytes) -> bool:
    return data.lstrip().startswith(b"<") and not any(n < 32 and not bytes([n]).isspace() for n in data[:64])
