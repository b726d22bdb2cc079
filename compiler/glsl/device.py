"""Runs kernels of the webgl backend through OpenGL ES 3.0, whose shading language is WebGL 2's."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import byref, c_uint

import numpy as np

from ..dtypes import F32, I8, I16, I32, U8, U16, U32, DType
from ..errors import InternalError
from ..program.device_program import DeviceKernel, Placement, Storage
from .compose import compose
from .gles import (
    COLOR_ATTACHMENT0,
    FRAMEBUFFER,
    FRAMEBUFFER_COMPLETE,
    TEXTURE0,
    TEXTURE_2D_ARRAY,
    TRIANGLES,
    Gles,
    Objects,
    context,
)

Array = np.ndarray

VERTEX = """#version 300 es
void main() { gl_Position = vec4(float((gl_VertexID & 1) * 4 - 1), float((gl_VertexID & 2) * 2 - 1), 0.0, 1.0); }
"""
"""One triangle that covers the viewport."""

# Internal format, format, type: RGBA32F, RGBA32I, RGBA32UI, RGBA8I, RGBA8UI, RGBA16I, RGBA16UI.
FORMATS: dict[DType, tuple[int, int, int]] = {
    F32: (0x8814, 0x1908, 0x1406),
    I32: (0x8D82, 0x8D99, 0x1404),
    U32: (0x8D70, 0x8D99, 0x1405),
    I8: (0x8D8E, 0x8D99, 0x1400),
    U8: (0x8D7C, 0x8D99, 0x1401),
    I16: (0x8D88, 0x8D99, 0x1402),
    U16: (0x8D76, 0x8D99, 0x1403),
}


class GlesDevice:
    """A `execution.device.Device`."""

    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._gl.delete_discarded()
        self._objects = Objects()
        self._discard = weakref.finalize(self, self._gl.discard, self._objects)
        self._kernels = kernels
        self._programs: dict[int, int] = {}
        self._uniforms: dict[int, list[int]] = {}
        self._storages: list[Storage] = []
        self._targets: dict[tuple[int, int, int], int] = {}

    @property
    def _gl(self) -> Gles:
        return context()

    def allocate(self, storages: Sequence[Storage]) -> None:
        self._storages = list(storages)
        for s in storages:
            place = _placement(s)
            texture = self._gl.generate("Textures")
            self._objects.textures.append(texture)
            self._gl.glActiveTexture(TEXTURE0)
            self._gl.glBindTexture(TEXTURE_2D_ARRAY, texture)
            for name, value in ((0x2801, 0x2600), (0x2800, 0x2600), (0x2802, 0x812F), (0x2803, 0x812F)):
                self._gl.glTexParameteri(TEXTURE_2D_ARRAY, name, value)  # nearest, clamped to the edge
            size = place.width, place.height, place.layers
            self._gl.glTexStorage3D(TEXTURE_2D_ARRAY, 1, FORMATS[s.dtype][0], *size)
            self.write(len(self._objects.textures) - 1, np.zeros(s.bytes // s.dtype.bytes, s.dtype.numpy))

    def release(self, storage: int) -> None:
        """Framebuffers first: they would keep their textures alive."""
        for key in [k for k in self._targets if k[0] == storage]:
            framebuffer = self._targets.pop(key)
            self._objects.framebuffers.remove(framebuffer)
            self._gl.glDeleteFramebuffers(1, byref(c_uint(framebuffer)))
        self._gl.glDeleteTextures(1, byref(c_uint(self._objects.textures[storage])))
        self._objects.textures[storage] = 0

    def close(self) -> None:
        self._discard()
        self._gl.delete_discarded()

    def write(self, storage: int, data: Array) -> None:
        s = self._storages[storage]
        place = _placement(s)
        whole = np.zeros(place.width * place.height * place.layers * 4, s.dtype.numpy)
        whole[: data.size] = data
        _, layout, kind = FORMATS[s.dtype]
        self._gl.glActiveTexture(TEXTURE0)
        self._gl.glBindTexture(TEXTURE_2D_ARRAY, self._objects.textures[storage])
        size = place.width, place.height, place.layers
        self._gl.glTexSubImage3D(TEXTURE_2D_ARRAY, 0, 0, 0, 0, *size, layout, kind, whole.ctypes.data)

    def read(self, storage: int) -> Array:
        s = self._storages[storage]
        place = _placement(s)
        result = np.empty((place.layers, place.height, place.width, 4), s.dtype.numpy)
        _, layout, kind = FORMATS[s.dtype]
        for layer in range(place.layers):
            self._gl.glBindFramebuffer(FRAMEBUFFER, self._target(storage, 1, layer))
            self._gl.glReadBuffer(COLOR_ATTACHMENT0)
            part = result[layer]
            self._gl.glReadPixels(0, 0, place.width, place.height, layout, kind, part.ctypes.data)
        self._check("reading back")
        return result.reshape(-1)

    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        k = self._kernels[kernel]
        program = self._program(kernel)
        width, height, layers = k.grid_of(scalars)
        *reads, out = storages
        self._gl.glUseProgram(program)
        for location, n in zip(self._uniforms[kernel], scalars, strict=True):
            self._gl.glUniform1i(location, n)
        for unit, storage in enumerate(reads):
            self._gl.glActiveTexture(TEXTURE0 + unit)
            self._gl.glBindTexture(TEXTURE_2D_ARRAY, self._objects.textures[storage])
        self._gl.glBindFramebuffer(FRAMEBUFFER, self._target(out, layers, 0))
        whole = [(0, 0, width, height)]
        env = dict(zip(k.scalars, scalars, strict=True))
        for part in whole if k.strips is None else k.strips.rectangles(env):
            self._gl.glViewport(*part)
            self._gl.glDrawArrays(TRIANGLES, 0, 3)
        self._check(f"kernel {k.name}")

    def finish(self) -> None:
        """Waits until all commands are complete."""
        self._gl.glFinish()

    def _program(self, kernel: int) -> int:
        if kernel not in self._programs:
            k = self._kernels[kernel]
            program = self._programs[kernel] = self._gl.link(VERTEX, compose(k))
            self._objects.programs.append(program)
            self._gl.glUseProgram(program)
            for unit in range(len(k.params) - 1):
                location = self._gl.glGetUniformLocation(program, f"p{unit}".encode())
                self._gl.glUniform1i(location, unit)
            names = (f"s{i}".encode() for i in range(len(k.scalars)))
            self._uniforms[kernel] = [self._gl.glGetUniformLocation(program, name) for name in names]
        return self._programs[kernel]

    def _target(self, storage: int, layers: int, first: int) -> int:
        """A framebuffer of `layers` layers of a storage's texture."""
        key = storage, layers, first
        if key not in self._targets:
            framebuffer = self._targets[key] = self._gl.generate("Framebuffers")
            self._objects.framebuffers.append(framebuffer)
            self._gl.glBindFramebuffer(FRAMEBUFFER, framebuffer)
            attachments = [COLOR_ATTACHMENT0 + i for i in range(layers)]
            for i, attachment in enumerate(attachments):
                self._gl.glFramebufferTextureLayer(
                    FRAMEBUFFER, attachment, self._objects.textures[storage], 0, first + i
                )
            self._gl.glDrawBuffers(layers, (c_uint * layers)(*attachments))
            status = self._gl.glCheckFramebufferStatus(FRAMEBUFFER)
            if status != FRAMEBUFFER_COMPLETE:
                raise InternalError(f"webgl: a texture cannot be drawn to (status {status:#x})")
        return self._targets[key]

    def _check(self, what: str) -> None:
        error = self._gl.glGetError()
        if error:
            raise InternalError(f"webgl: {what}: OpenGL error {error:#x}")


def _placement(s: Storage) -> Placement:
    assert s.placement is not None
    return s.placement
