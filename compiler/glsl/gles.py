"""OpenGL ES 3.0 without a window, through the system's libraries: a context, and the functions that kernels use."""

from __future__ import annotations

import ctypes
from collections import deque
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..errors import InputError

TEXTURE_2D_ARRAY, TEXTURE0, FRAMEBUFFER, COLOR_ATTACHMENT0 = 0x8C1A, 0x84C0, 0x8D40, 0x8CE0
VERTEX_SHADER, FRAGMENT_SHADER, COMPILE_STATUS, LINK_STATUS = 0x8B31, 0x8B30, 0x8B81, 0x8B82
FRAMEBUFFER_COMPLETE, TRIANGLES, RENDERER = 0x8CD5, 4, 0x1F01

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "glCreateShader": (c_uint, c_uint),
    "glShaderSource": (None, c_uint, c_int, POINTER(c_char_p), c_void_p),
    "glCompileShader": (None, c_uint),
    "glGetShaderiv": (None, c_uint, c_uint, POINTER(c_int)),
    "glGetShaderInfoLog": (None, c_uint, c_int, c_void_p, c_char_p),
    "glDeleteShader": (None, c_uint),
    "glCreateProgram": (c_uint,),
    "glAttachShader": (None, c_uint, c_uint),
    "glLinkProgram": (None, c_uint),
    "glGetProgramiv": (None, c_uint, c_uint, POINTER(c_int)),
    "glGetProgramInfoLog": (None, c_uint, c_int, c_void_p, c_char_p),
    "glUseProgram": (None, c_uint),
    "glDeleteProgram": (None, c_uint),
    "glGetUniformLocation": (c_int, c_uint, c_char_p),
    "glUniform1i": (None, c_int, c_int),
    "glGenTextures": (None, c_int, POINTER(c_uint)),
    "glDeleteTextures": (None, c_int, POINTER(c_uint)),
    "glActiveTexture": (None, c_uint),
    "glBindTexture": (None, c_uint, c_uint),
    "glTexParameteri": (None, c_uint, c_uint, c_int),
    "glTexStorage3D": (None, c_uint, c_int, c_uint, c_int, c_int, c_int),
    "glTexSubImage3D": (None, c_uint, *[c_int] * 7, c_uint, c_uint, c_void_p),
    "glGenFramebuffers": (None, c_int, POINTER(c_uint)),
    "glDeleteFramebuffers": (None, c_int, POINTER(c_uint)),
    "glBindFramebuffer": (None, c_uint, c_uint),
    "glFramebufferTextureLayer": (None, c_uint, c_uint, c_uint, c_int, c_int),
    "glDrawBuffers": (None, c_int, POINTER(c_uint)),
    "glReadBuffer": (None, c_uint),
    "glReadPixels": (None, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p),
    "glCheckFramebufferStatus": (c_uint, c_uint),
    "glViewport": (None, c_int, c_int, c_int, c_int),
    "glDrawArrays": (None, c_uint, c_int, c_int),
    "glGenVertexArrays": (None, c_int, POINTER(c_uint)),
    "glBindVertexArray": (None, c_uint),
    "glGetError": (c_uint,),
    "glFinish": (None,),
    "glGetString": (c_char_p, c_uint),
}


@dataclass(slots=True)
class Objects:
    """Objects created in the context, by name."""

    textures: list[int] = field(default_factory=list)
    framebuffers: list[int] = field(default_factory=list)
    programs: list[int] = field(default_factory=list)


class Gles:
    """The functions of a context, by their names in the specification."""

    def __init__(self) -> None:
        self._discarded: deque[Objects] = deque()
        self._library, self._egl, self._display, self._context = _open()
        self.make_current()
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        array = c_uint()
        self.glGenVertexArrays(1, byref(array))
        self.glBindVertexArray(array)
        self.renderer = (self.glGetString(RENDERER) or b"").decode()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def make_current(self) -> None:
        """Called before any other: users of EGL such as wgpu leave another context or none, and calls without one fail
        silently. Raises InputError in a second thread."""
        if self._egl.eglGetCurrentContext() == self._context:
            return
        if not self._egl.eglMakeCurrent(self._display, None, None, self._context):
            raise InputError("target webgl: another thread has the OpenGL context; run all of its models in one thread")

    def discard(self, objects: Objects) -> None:
        """Queues objects for the next `delete_discarded`. Any thread may call this; only one has the context."""
        self._discarded.append(objects)

    def delete_discarded(self) -> None:
        """Not between the calls of a launch: it unsets the program in use."""
        if self._discarded:
            self.glUseProgram(0)  # a program in use would stay
        while self._discarded:
            objects = self._discarded.popleft()
            for name in objects.framebuffers:
                self.glDeleteFramebuffers(1, byref(c_uint(name)))
            for name in objects.textures:
                self.glDeleteTextures(1, byref(c_uint(name)))
            for name in objects.programs:
                self.glDeleteProgram(name)

    def generate(self, kind: str) -> int:
        """A new object of a kind ("Textures", "Framebuffers")."""
        number = c_uint()
        getattr(self, f"glGen{kind}")(1, byref(number))
        return number.value

    def link(self, vertex: str, fragment: str) -> int:
        """The program of two shaders. Raises InputError with the driver's message where they do not compile."""
        program = self.glCreateProgram()
        for kind, source in ((VERTEX_SHADER, vertex), (FRAGMENT_SHADER, fragment)):
            shader = self.glCreateShader(kind)
            self.glShaderSource(shader, 1, byref(c_char_p(source.encode())), None)
            self.glCompileShader(shader)
            self._check(shader, "Shader", COMPILE_STATUS, source)
            self.glAttachShader(program, shader)
            self.glDeleteShader(shader)
        self.glLinkProgram(program)
        self._check(program, "Program", LINK_STATUS, fragment)
        return int(program)

    def _check(self, number: int, what: str, status: int, source: str) -> None:
        good = c_int()
        getattr(self, f"glGet{what}iv")(number, status, byref(good))
        if not good.value:
            log = ctypes.create_string_buffer(4096)
            getattr(self, f"glGet{what}InfoLog")(number, 4096, None, log)
            lines = "\n".join(f"{i + 1:4} {line}" for i, line in enumerate(source.splitlines()[:200]))
            raise InputError(f"the OpenGL driver rejects a shader: {log.value.decode(errors='replace')}\n{lines}")


def context() -> Gles:
    """The context of this process, current. Raises InputError where there is no driver, and in a second thread."""
    gles = _only()
    gles.make_current()
    return gles


@cache
def _only() -> Gles:
    return Gles()


def _open() -> tuple[ctypes.CDLL, ctypes.CDLL, Any, Any]:
    """OpenGL ES, EGL, a display and a context."""
    try:
        egl, gles = ctypes.CDLL("libEGL.so.1"), ctypes.CDLL("libGLESv2.so.2")
    except OSError as error:
        raise InputError(f"target webgl: {error}; install libEGL and libGLESv2 (Debian libegl1 libgles2)") from None
    egl.eglGetPlatformDisplay.restype = egl.eglCreateContext.restype = c_void_p
    egl.eglGetPlatformDisplay.argtypes = (c_uint, c_void_p, c_void_p)
    egl.eglInitialize.argtypes = (c_void_p, c_void_p, c_void_p)
    egl.eglChooseConfig.argtypes = (c_void_p, c_void_p, c_void_p, c_int, c_void_p)
    egl.eglCreateContext.argtypes = (c_void_p, c_void_p, c_void_p, c_void_p)
    egl.eglMakeCurrent.argtypes = (c_void_p, c_void_p, c_void_p, c_void_p)
    egl.eglGetCurrentContext.restype, egl.eglGetCurrentContext.argtypes = c_void_p, ()
    surfaceless, default = 0x31DD, None
    for platform in (surfaceless, default):
        display = egl.eglGetPlatformDisplay(platform, None, None) if platform else _default_display(egl)
        if display and egl.eglInitialize(display, None, None) and (opened := _create_context(egl, display)):
            return gles, egl, display, opened
    raise InputError("target webgl: no OpenGL ES 3.0 driver (Debian libgl1-mesa-dri has one for any machine)")


def _default_display(egl: ctypes.CDLL) -> Any:
    egl.eglGetDisplay.restype, egl.eglGetDisplay.argtypes = c_void_p, (c_void_p,)
    return egl.eglGetDisplay(None)


def _create_context(egl: ctypes.CDLL, display: Any) -> Any:
    es_api, renderable, es3, surface, version, none = 0x30A0, 0x3040, 0x40, 0x3033, 0x3098, 0x3038
    egl.eglBindAPI(es_api)
    config, count = c_void_p(), c_int()
    attributes = (c_int * 5)(renderable, es3, surface, 0, none)
    if not egl.eglChooseConfig(display, attributes, byref(config), 1, byref(count)) or not count.value:
        return None
    return egl.eglCreateContext(display, config, None, (c_int * 3)(version, 3, none))
