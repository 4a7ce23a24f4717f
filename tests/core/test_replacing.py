"""Files are written whole or not at all, whatever writes them."""

import os
import stat

import pytest

from pliant.core import replacing as module
from pliant.core.errors import InputError
from pliant.core.replacing import replace_text, replacing


def test_the_file_appears_with_the_end_of_the_block_and_nothing_else_stays(tmp_path):
    target = tmp_path / "a.txt"
    with replacing(target) as part:
        assert part.name == "a.txt", "writers decide by the name"
        part.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def interrupted(part):
        part.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(target) as part:
        interrupted(part)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_beside_come_along_before_and_others_stay(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("kept")
    moved = []
    monkeypatch.setattr(module.os, "replace", lambda a, b, real=os.replace: (moved.append(b.name), real(a, b)))
    with replacing(tmp_path / "run.pvd") as part:
        part.write_text("index")
        (part.parent / "run").mkdir()
        (part.parent / "run" / "z.vtu").write_text("step")
    assert moved == ["z.vtu", "run.pvd"]
    assert (tmp_path / "run" / "mine.txt").read_text() == "kept"


def test_content_and_folder_are_flushed_before_and_after_the_rename(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(module.os, "fsync", lambda handle: done.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    monkeypatch.setattr(module.os, "replace", lambda a, b, real=os.replace: (done.append("rename"), real(a, b)))
    replace_text(tmp_path / "a.txt", "x")
    assert done == [False, "rename", True]


def test_links_devices_permissions_and_missing_folders(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_text(link, "é\n")
    assert link.is_symlink()
    assert real.read_bytes() == "é\n".encode()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    replace_text(os.devnull, "gone")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(InputError, match=r"folder of .* does not exist"):
        replace_text(tmp_path / "no" / "a.txt", "x")


def test_the_longest_names_can_be_written(tmp_path):
    replace_text(tmp_path / ("ü" * 127), "x")
    assert len(os.listdir(tmp_path)) == 1
