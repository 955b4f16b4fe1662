"""Read ONNX files with the weights that they keep in other files.

An ONNX file is a protobuf message. ``torch.onnx.export`` writes the weights of a model to a file
beside it, and the message names that file. onnxruntime would look for that file in the current
folder, or read it after the digest of the model was taken. So the weights are read once and put
into the message, which is then the whole model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import kind_of

_MOST = 2**31
"""The most bytes of a protobuf message."""
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""The messages of onnx.proto that contain tensors: their fields, with the kinds of message."""
_RAW, _PLACE, _IS_ELSEWHERE = 9, 13, 14
"""The fields of a tensor: its bytes, the file with its bytes, and 1 if they are in that file."""
_BYTES = 2
"""The wire type of texts, bytes and messages."""
_SIZES = {1: 8, 5: 4}
"""The wire types of fixed size."""


def whole_model(model: bytes, path: Path) -> bytes:
    """Return the content of an ONNX file with all weights in it.

    Args:
        model: the content of the file. If it has all weights, it is returned unchanged.
        path: the file. Weights outside its folder are refused.

    Raises:
        HeartsError: if a file with weights is missing or outside the folder.
        Exception: if the content is not an ONNX model. It may be of any type.
    """
    return _whole(model, "model", _Weights(path))


class _Weights:
    """The weights of a model in other files. Each file is read once."""

    def __init__(self, path: Path) -> None:
        self._name = quoted(str(path))
        self._folder = path.parent.resolve()
        self._files: dict[str, bytes] = {}
        self._size = 0

    def part(self, location: str, offset: int, length: int | None) -> bytes:
        """Return bytes of a file. If `length` is None, all from `offset`."""
        if location not in self._files:
            self._files[location] = self._read(location)
        content = self._files[location]
        end = len(content) if length is None else offset + length
        if not 0 <= offset <= end <= len(content):
            raise ValueError(f"{location} is too short for its weights")
        self._size += end - offset
        if self._size > _MOST:  # tensors may share bytes, so small files could have any size
            raise ValueError(f"it has weights of more than {_MOST:,} bytes")
        return content[offset:end]

    def _read(self, location: str) -> bytes:
        place = (self._folder / location).resolve()
        if not place.is_relative_to(self._folder):
            raise HeartsError(
                f"agent: {self._name} has its weights in {quoted(location)}, outside its folder; "
                "put them beside it, as torch.onnx.export does"
            )
        if kind_of(place) != "file":
            raise CheckpointError(
                f"agent: {self._name} has its weights in {quoted(location)}, and its folder has no "
                "such file; put it there"
            )
        return place.read_bytes()


def _whole(message: bytes, kind: str, weights: _Weights) -> bytes:
    """Return a message with the weights of other files in it."""
    if kind == "tensor":
        return _whole_tensor(message, weights)
    parts, inside = [], _INSIDE[kind]
    for number, value, encoded in _fields(message):
        if number in inside and isinstance(value, bytes):
            found = _whole(value, inside[number], weights)
            encoded = encoded if found is value else _field(number, found)
        parts.append(encoded)
    whole = b"".join(parts)
    return message if whole == message else whole


def _whole_tensor(message: bytes, weights: _Weights) -> bytes:
    """Return a tensor with its own bytes in it."""
    kept, place, is_elsewhere = [], {}, False
    for number, value, encoded in _fields(message):
        if number == _PLACE and isinstance(value, bytes):
            pair = {n: text.decode() for n, text, _ in _fields(value) if isinstance(text, bytes)}
            place[pair.get(1)] = pair.get(2, "")
        elif number == _IS_ELSEWHERE and isinstance(value, int):
            is_elsewhere = value & 0xFFFFFFFF == 1  # as protobuf reads an enumeration
        else:
            kept.append(encoded)
    if not is_elsewhere:
        return message
    length = int(place["length"]) if place.get("length") else None
    own = weights.part(place.get("location", ""), int(place.get("offset") or 0), length)
    return b"".join([*kept, _field(_RAW, own)])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Yield the number, value and encoding of each field. Texts and messages are bytes."""
    at = 0
    while at < len(message):
        begin = at
        key, at = _number(message, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = _number(message, at)
        elif key & 7 == _BYTES:
            size, at = _number(message, at)
            value, at = message[at : at + size], at + size
        else:
            value, at = 0, at + _SIZES[key & 7]  # floats, of which none matter
        if at > len(message):
            raise ValueError("it is cut short")
        yield key >> 3, value, message[begin:at]


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place in a message, and the place after it."""
    value = shift = 0
    while True:
        low = message[at]
        at, value, shift = at + 1, value | (low & 127) << shift, shift + 7
        if low < 128:
            return value, at
        if shift > 63:
            raise ValueError("it has a damaged number")


def _field(number: int, value: bytes) -> bytes:
    """Encode a field of bytes."""
    encoded = b""
    for n in (number << 3 | _BYTES, len(value)):
        while n > 127:
            encoded, n = encoded + bytes([n & 127 | 128]), n >> 7
        encoded += bytes([n])
    return encoded + value
