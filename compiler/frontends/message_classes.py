"""Classes of protobuf messages, made from the text of a schema. Formats whose own packages are large or need another
operating system are read without them, in the page that compiles, too: a reader declares the fields that it reads, and
protobuf passes over the others.

Source: the Protocol Buffers language specification (proto2), of which this takes top-level messages and enums, enums
inside of messages, fields with defaults, and maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TOKEN = re.compile(r'//[^\n]*|[A-Za-z_]\w*|-?\d[\w.+-]*|"[^"]*"|\S')
_Field = descriptor_pb2.FieldDescriptorProto
_LABELS = {"optional": _Field.LABEL_OPTIONAL, "repeated": _Field.LABEL_REPEATED, "required": _Field.LABEL_REQUIRED}
_TYPES = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("bool", "bytes", "double", "float", "int32", "int64", "string", "uint32", "uint64")
}


def message_classes(package: str, schema: str) -> Mapping[str, Any]:
    """The class of each message of `schema`, by its name; `package` names the schema apart from all others. A field
    without a label is optional. Raises ValueError where the schema is none."""
    file = _Parser(package, schema).file()
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = {
        m.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{m.name}"))
        for m in file.message_type
    }
    return MappingProxyType(classes)


class _Parser:
    def __init__(self, package: str, schema: str) -> None:
        self._tokens: Iterator[str] = iter(t for t in _TOKEN.findall(schema) if not t.startswith("//"))
        self._file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
        self._enums = set(re.findall(r"\benum\s+(\w+)", schema))

    def file(self) -> descriptor_pb2.FileDescriptorProto:
        for token in self._tokens:
            if token == "message":
                self._message()
            elif token == "enum":
                self._enum(self._file)
            else:
                raise ValueError(f"expected 'message' or 'enum', not {token!r}")
        return self._file

    def _next(self, *expected: str) -> str:
        token = next(self._tokens, "the end")
        if expected and token not in expected:
            raise ValueError(f"expected {' or '.join(map(repr, expected))}, not {token!r}")
        return token

    def _enum(self, scope: descriptor_pb2.FileDescriptorProto | descriptor_pb2.DescriptorProto) -> None:
        enum = scope.enum_type.add(name=self._next())
        self._next("{")
        while (name := self._next()) != "}":
            self._next("=")
            enum.value.add(name=name, number=int(self._next()))
            self._next(";")

    def _message(self) -> None:
        message = self._file.message_type.add(name=self._next())
        self._next("{")
        while (token := self._next()) != "}":
            if token == "enum":
                self._enum(message)
            else:
                self._field(message, token)

    def _field(self, message: descriptor_pb2.DescriptorProto, token: str) -> None:
        """The rest of a field whose first token is given."""
        label = "optional"
        if token in _LABELS:
            label, token = token, self._next()
        if token == "map":
            self._next("<")
            key = self._next()
            self._next(",")
            value = self._next()
            self._next(">")
            label = "repeated"
        name = self._next()
        self._next("=")
        field = message.field.add(name=name, number=int(self._next()), label=_LABELS[label])
        if token == "map":
            entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
            entry.options.map_entry = True
            for number, (part, type) in enumerate((("key", key), ("value", value)), 1):
                self._set_type(entry.field.add(name=part, number=number, label=_Field.LABEL_OPTIONAL), type)
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{self._file.package}.{message.name}.{entry.name}"
        else:
            self._set_type(field, token)
        if self._next("[", ";") == "[":
            self._next("default")
            self._next("=")
            field.default_value = self._next().strip('"')
            self._next("]")
            self._next(";")

    def _set_type(self, field: descriptor_pb2.FieldDescriptorProto, type: str) -> None:
        if type in _TYPES:
            field.type = _TYPES[type]
        else:
            field.type = _Field.TYPE_ENUM if type in self._enums else _Field.TYPE_MESSAGE
            field.type_name = type  # is looked for in the message, and then in the package
