"""CUDA C++ compiled in this process, by NVRTC; no GPU is needed."""

from __future__ import annotations

from cuda.bindings import nvrtc

from ..errors import InputError, InternalError

_DONE = nvrtc.nvrtcResult.NVRTC_SUCCESS
# Products and sums may be fused, as everywhere; divisions and roots are exact, subnormals are kept.
OPTIONS = (b"--std=c++17", b"--fmad=true", b"--prec-div=true", b"--prec-sqrt=true", b"--ftz=false")


def compile_source(source: str, capability: int) -> bytes:
    """Machine code (a cubin) for a compute capability, 90 for 9.0; PTX where the GPU is newer than NVRTC, which the
    driver then compiles. Raises InputError where NVRTC is missing or the GPU too old, InternalError where NVRTC
    refuses the text."""
    supported = _supported()
    if capability < supported[0]:
        raise InputError(
            f"target cuda: the GPU has compute capability {capability / 10:.1f}, NVRTC {_version()} compiles for "
            f"{supported[0] / 10:.1f} and newer: install an older nvidia-cuda-nvrtc"
        )
    newest = max(c for c in supported if c <= capability)
    architecture = f"sm_{newest}" if newest == capability else f"compute_{newest}"
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    try:
        options = [f"--gpu-architecture={architecture}".encode(), *OPTIONS]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result != _DONE:
            raise InternalError(f"cuda: NVRTC refuses the generated code: {_log(program)}")
        sizes, read = (
            (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
            if newest == capability
            else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        )
        _, size = sizes(program)
        data = bytes(size)
        read(program, data)
        return data
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _supported() -> list[int]:
    try:
        _, capabilities = nvrtc.nvrtcGetSupportedArchs()
    except RuntimeError as error:
        raise InputError(f"target cuda: NVRTC cannot be loaded ({error}): pip install 'webnn-compile[cuda]'") from None
    return sorted(capabilities)


def _version() -> str:
    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


def _log(program: object) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    data = bytes(size)
    nvrtc.nvrtcGetProgramLog(program, data)
    return data.decode(errors="replace").rstrip("\0\n")
