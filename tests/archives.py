"""Archives with another content: as a damaged program, a hostile one or an earlier version would have written them."""

import json

import numpy as np

from pliant.core.archive import write_archive


def content_of(path):
    """Header and arrays of an archive."""
    with np.load(path, allow_pickle=False) as data:
        arrays = dict(data)
    return json.loads(str(arrays.pop("header"))), arrays


def rewritten(path, target, change):
    """The archive at `path` after `change(header, arrays)`, written to `target` with a checksum that is right."""
    header, arrays = content_of(path)
    change(header, arrays)
    return write_archive(target, header.pop("format"), arrays, header=header)


def of_version_1(path, target, change=lambda header, arrays: None):
    """The archive at `path` as version 1 wrote it: pairs as lists, no provenance, no checksum; and then changed."""
    header, arrays = content_of(path)
    kind, _, _ = header["format"].rpartition(" ")
    header["format"] = f"{kind} 1"
    header.pop("made")
    if "world" in header and isinstance(header["world"], dict):
        header["world"]["pairs"] = [list(pair.values()) for pair in header["world"]["pairs"]]
    change(header, arrays)
    np.savez(target, header=np.array(json.dumps(header)), **arrays)
    return target
