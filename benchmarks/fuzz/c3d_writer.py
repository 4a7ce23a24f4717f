"""Writes C3D files in every variant of the format, for the tests of the reader."""

import struct

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86


class Writer:
    """Numbers in the byte order of a processor."""

    def __init__(self, processor):
        self.processor, self.order = processor, ">" if processor == MIPS else "<"

    def word(self, value):
        """A 16-bit word."""
        return struct.pack(f"{self.order}H", value & 0xFFFF)

    def floats(self, values):
        """Floats of 32 bits."""
        values = np.asarray(values, np.float64).ravel()
        if self.processor != DEC:
            return values.astype(f"{self.order}f4").tobytes()
        halves = (4.0 * values).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        return np.ascontiguousarray(halves).tobytes()

    def integers(self, values):
        """Integers of 16 bits."""
        return np.asarray(values).astype(f"{self.order}i2").tobytes()

    def group(self, name, number):
        """The entry of a group."""
        return self._entry(name, -number, b"\x00")

    def parameter(self, name, number, kind, shape, data):
        """The entry of a parameter."""
        return self._entry(name, number, struct.pack("bB", kind, len(shape)) + bytes(shape) + data + b"\x00")

    def _entry(self, name, number, rest):
        head = struct.pack("bb", len(name), number) + name.encode()
        return head + self.word(len(rest) + 2) + rest


def written(
    points, *, rate=100.0, unit="mm", labels=None, processor=INTEL, floats=True, analogue=0, scale=0.01, gaps=(),
    extra=(),
):  # fmt: skip
    """Bytes of a file with `points` (frames, markers, 3) in `unit`; `gaps` are pairs (frame, marker)."""
    frames, markers, _ = points.shape
    w = Writer(processor)
    labels = [f"M{k}" for k in range(markers)] if labels is None else labels
    given = [
        w.group("POINT", 1),
        w.parameter("USED", 1, 2, (), w.word(markers)),
        w.parameter("FRAMES", 1, 2, (), w.word(frames)),
        w.parameter("SCALE", 1, 4, (), w.floats([-scale if floats else scale])),
        w.parameter("RATE", 1, 4, (), w.floats([rate])),
        w.parameter("LABELS", 1, -1, (8, markers), b"".join(label.encode().ljust(8) for label in labels)),
    ]
    if unit:
        given.append(w.parameter("UNITS", 1, -1, (len(unit),), unit.encode()))
    given += [w.parameter(name, 1, *rest) for name, *rest in extra]
    section = b"".join(given) + b"\x00\x00"
    blocks = -(-(len(section) + 4) // 512)
    parameters = (bytes([1, 80, blocks, processor]) + section).ljust(512 * blocks, b"\x00")
    start = 2 + blocks
    header = bytes([2, 80]) + b"".join(w.word(x) for x in (markers, analogue, 1, frames, 10))
    header += w.floats([-scale if floats else scale]) + w.word(start) + w.word(1) + w.floats([rate])
    residual = np.zeros((frames, markers, 1))
    for frame, marker in gaps:
        residual[frame, marker] = -1
    values = np.concatenate([points if floats else np.round(points / scale), residual], axis=2).reshape(frames, -1)
    values = np.concatenate([values, np.full((frames, analogue), 7.0)], axis=1)
    data = w.floats(values) if floats else w.integers(values)
    return header.ljust(512, b"\x00") + parameters + data.ljust(-(-len(data) // 512) * 512, b"\x00")
