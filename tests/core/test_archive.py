"""Archives: whole or not at all, without pickle, with a format that is checked."""

import io
import json
import os
import sys
import zipfile

import numpy as np
import pytest

from pliant.core import archive, replacing
from pliant.core.archive import decoding, read_archive, write_archive
from pliant.core.errors import FileFormatError, InputError

TAG = "pliant thing 2"
WHAT = "a saved thing"


def arrays():
    return {"x": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 3), np.float32), "file": np.array(True)}


@pytest.mark.parametrize("compress", [True, False])
def test_what_is_written_is_read_to_the_bit(tmp_path, compress):
    path = write_archive(tmp_path / "a.npz", TAG, arrays(), header={"names": ["é", None]}, compress=compress)
    header, found = read_archive(path, "other 1", TAG, what=WHAT)
    assert header.pop("made")["versions"]["numpy"] == np.__version__
    assert header == {"format": TAG, "names": ["é", None]}
    assert list(found) == ["x", "empty", "file"]
    for name, array in arrays().items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_numpy_reads_the_file(tmp_path):
    path = write_archive(tmp_path / "a.npz", TAG, arrays())
    with np.load(path, allow_pickle=False) as data:
        np.testing.assert_array_equal(data["x"], arrays()["x"])
        assert json.loads(str(data["header"]))["format"] == TAG


class Fails:
    """An array whose content cannot be had: the write is interrupted in the middle."""

    def __array__(self, *args, **kwargs):
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = write_archive(tmp_path / "a.npz", TAG, arrays())
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, TAG, {"x": np.zeros(1000), "y": Fails()})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def interrupted_at(line, work):
    """`work`, with Ctrl-C before the given line that Python executes in it."""

    def trace(frame, event, arg):
        nonlocal line
        line -= event == "line"
        if line == 0:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # ZipFile's constructor was interrupted
def test_ctrl_c_at_any_line_is_a_keyboard_interrupt_and_leaves_a_whole_file(tmp_path):
    path = write_archive(tmp_path / "a.npz", TAG, {"x": np.zeros(3)})
    old = path.read_bytes()
    for line in range(1, 100_000, 3):
        try:
            interrupted_at(line, lambda: write_archive(path, TAG, {"x": np.ones(4)}))
        except KeyboardInterrupt:
            with zipfile.ZipFile(path) as found:
                assert found.testzip() is None
            continue
        break
    assert line > 500
    assert path.read_bytes() != old


@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, stage):
    path = write_archive(tmp_path / "a.npz", TAG, arrays())
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, stage, full)
    with pytest.raises(OSError, match="No space left"):
        write_archive(path, TAG, {"x": np.zeros(3)})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npz"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "kept").mkdir()
    target = write_archive(tmp_path / "kept" / "a.npz", TAG, {"x": np.zeros(3)})
    link = tmp_path / "link.npz"
    link.symlink_to(target)
    assert write_archive(link, TAG, arrays()) == link
    assert link.is_symlink()
    assert "empty" in read_archive(target, TAG, what=WHAT)[1]


def test_objects_are_not_pickled(tmp_path):
    with pytest.raises(InputError, match="'x' must be an array of numbers"):
        write_archive(tmp_path / "a.npz", TAG, {"x": np.array([object()])})
    np.savez(tmp_path / "b.npz", header=np.array(json.dumps({"format": TAG})), x=np.array([object()]))
    with pytest.raises(InputError, match=r"b\.npz is not a saved thing, or it is damaged"):
        read_archive(tmp_path / "b.npz", TAG, what=WHAT)
    with pytest.raises(InputError, match="cannot be called 'header'"):
        write_archive(tmp_path / "a.npz", TAG, {"header": np.zeros(1)})
    assert not (tmp_path / "a.npz").exists()


def test_formats_are_checked(tmp_path):
    path = write_archive(tmp_path / "a.npz", "pliant thing 3", arrays())
    with pytest.raises(InputError, match=r"another version .* \('pliant thing 3'; this one reads 'pliant thing 2'"):
        read_archive(path, TAG, what=WHAT)
    for odd in (
        "pliant thing",
        "pliant thing x",
        "pliant thing -1",
        "pliant thing 1234567",
        "pliant thing ²",
        "thing 3",
    ):
        other = write_archive(tmp_path / "odd.npz", odd, arrays())
        with pytest.raises(InputError, match=f"is not a saved thing: it holds {odd!r}, not 'pliant thing 2'"):
            read_archive(other, TAG, what=WHAT)
    with pytest.raises(InputError, match="is not a saved thing: it holds 'pliant thing 3', not 'pliant run 1'"):
        read_archive(path, "pliant run 1", what=WHAT)
    np.savez(tmp_path / "plain.npz", x=np.zeros(3))
    with pytest.raises(InputError, match="is not a saved thing, or it is damaged"):
        read_archive(tmp_path / "plain.npz", TAG, what=WHAT)
    old = {"": lambda header, arrays: ({"format": TAG}, arrays)}
    assert read_archive(tmp_path / "plain.npz", TAG, what=WHAT, older=old)[0] == {"format": TAG}
    with pytest.raises(InputError, match="it holds 'pliant thing 3'"):
        read_archive(path, "pliant run 1", what=WHAT, older=old)


def test_versions_are_migrated_one_after_the_other(tmp_path):
    older = {
        "pliant thing 0": lambda h, a: ({**h, "format": "pliant thing 1"}, {"x": a["old"]}),
        "pliant thing 1": lambda h, a: ({**h, "format": TAG, "unit": "m"}, a),
    }
    np.savez(tmp_path / "a.npz", header=np.array(json.dumps({"format": "pliant thing 0"})), old=np.ones(2))
    header, found = read_archive(tmp_path / "a.npz", TAG, what=WHAT, older=older)
    assert header == {"format": TAG, "unit": "m"}
    np.testing.assert_array_equal(found["x"], np.ones(2))
    np.savez(tmp_path / "b.npz", header=np.array(json.dumps({"format": "pliant thing 0"})))
    with pytest.raises(FileFormatError, match=r"b\.npz is not a saved thing.*KeyError: 'old'"):
        read_archive(tmp_path / "b.npz", TAG, what=WHAT, older=older)


def test_every_changed_byte_and_every_length_is_noticed(tmp_path):
    whole = write_archive(tmp_path / "a.npz", TAG, {"x": np.arange(4.0)}).read_bytes()
    for k in range(len(whole)):
        changed = bytearray(whole)
        changed[k] ^= 1 << (k % 8)
        (tmp_path / "b.npz").write_bytes(changed)
        with pytest.raises(FileFormatError, match=r"b\.npz is not a saved thing"):
            read_archive(tmp_path / "b.npz", TAG, what=WHAT)
        if k % 20 == 0:
            (tmp_path / "b.npz").write_bytes(whole[:k])
            with pytest.raises(FileFormatError, match=r"b\.npz is not a saved thing"):
                read_archive(tmp_path / "b.npz", TAG, what=WHAT)
    (tmp_path / "b.npz").write_bytes(whole[:50] + b"?" + whole[51:])
    with pytest.raises(FileFormatError, match="its checksum is wrong: bytes were changed or lost"):
        read_archive(tmp_path / "b.npz", TAG, what=WHAT)
    with np.load(tmp_path / "a.npz") as data:
        np.savez(tmp_path / "c.npz", **data)
    with pytest.raises(FileFormatError, match="its checksum is missing, so it was changed after it was written"):
        read_archive(tmp_path / "c.npz", TAG, what=WHAT)


def test_deep_and_long_headers_are_refused(tmp_path, monkeypatch):
    deep = "[" * 100_000 + "]" * 100_000
    np.savez(tmp_path / "deep.npz", header=np.array('{"format": "pliant thing 1", "x": ' + deep + "}"))
    with pytest.raises(FileFormatError, match="damaged"):
        read_archive(tmp_path / "deep.npz", "pliant thing 1", what=WHAT)
    monkeypatch.setattr(archive, "HEADER", 2**10)
    path = write_archive(tmp_path / "long.npz", TAG, {}, header={"text": " " * 2**20})
    with pytest.raises(FileFormatError, match=r"header of .* characters is too long"):
        read_archive(path, TAG, what=WHAT)


def test_damaged_and_missing_files_are_named(tmp_path):
    whole = write_archive(tmp_path / "a.npz", TAG, {"x": np.random.default_rng(0).random(999)}).read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 255
    one = tmp_path / "one.npy"
    np.save(one, np.zeros(3))
    for content in (b"", b"hello", whole[: len(whole) // 2], bytes(changed), one.read_bytes()):
        (tmp_path / "b.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"b\.npz is not a saved thing"):
            read_archive(tmp_path / "b.npz", TAG, what=WHAT)
    with pytest.raises(InputError, match="No such file"):
        read_archive(tmp_path / "missing.npz", TAG, what=WHAT)


def test_content_that_is_missing_names_the_file():
    with pytest.raises(InputError, match=r"a\.npz is not a saved thing: .*KeyError: 'q_0'"), decoding("a.npz", WHAT):
        {}["q_0"]


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "UNPACKED", 2**20)
    path = write_archive(tmp_path / "bomb.npz", TAG, {"x": np.zeros(2**20)})
    with pytest.raises(InputError, match="would unpack to"):
        read_archive(path, TAG, what=WHAT)
    monkeypatch.undo()
    assert read_archive(path, TAG, what=WHAT)[1]["x"].shape == (2**20,)


@pytest.mark.parametrize("shape", [(2**40,), (2**62, 4), (-1,), (3,)])
def test_an_array_has_the_size_that_it_announces(tmp_path, shape):
    path = tmp_path / "wrong.npz"
    with zipfile.ZipFile(path, "w") as made, made.open("times.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": shape})
        entry.write(bytes(16))
    with pytest.raises(InputError, match="damaged"):
        read_archive(path, "pliant run 1", what="a saved run")


def test_arrays_by_columns_come_back_as_they_were(tmp_path):
    by_columns = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    write_archive(tmp_path / "a.npz", "test 1", {"a": by_columns, "b": by_columns.T})
    _, arrays = read_archive(tmp_path / "a.npz", "test 1", what="a test")
    np.testing.assert_array_equal(arrays["a"], by_columns)
    np.testing.assert_array_equal(arrays["b"], by_columns.T)


def test_bytes_beyond_an_array_are_not_left_unread():
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(3.0))
    size = stream.seek(0, 2)
    stream.write(bytes(8))
    stream.seek(0)
    with pytest.raises(ValueError, match="24 bytes announced, 32 there"):
        archive._read_array(stream, size + 8)
