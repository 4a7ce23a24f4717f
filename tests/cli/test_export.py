"""`pliant export` and `pliant play`: every kind of file from a saved run, and what is not a run."""

import json
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from pliant.viewer.export import KINDS


def test_without_files_the_kinds_are_listed(pliant, saved_run):
    code, out, _ = pliant("export", saved_run)
    assert code == 0
    assert all(kind in out for kind in KINDS)


def test_several_files_at_once(pliant, saved_run, tmp_path):
    pytest.importorskip("matplotlib")
    names = ["a.html", "a.glb", "a.gltf", "a.pvd", "a.csv", "a.png", "strip.png", "a.gif", "b.npz"]
    options = [part for name in names for part in ("--to", name)]
    code, _, err = pliant(
        "export", saved_run, *options, "--fps", 20, "--size", "120x80", "--poses", 2, "--json", "e.json"
    )
    assert code == 0, err
    assert all((tmp_path / name).stat().st_size > 100 for name in names)
    assert json.loads((tmp_path / "e.json").read_text())["files"] == names


def test_a_run_is_drawn_cut_and_see_through(pliant, saved_run, tmp_path):
    pytest.importorskip("matplotlib")
    looks = {"plain": [], "cut": ["--cut", "x>0"], "clear": ["--opacity", 0.3]}
    for name, look in looks.items():
        code, _, err = pliant("export", saved_run, "--to", f"{name}.png", "--size", "120x80", "--poses", 1, *look)
        assert code == 0, err
    pictures = {(tmp_path / f"{name}.png").read_bytes() for name in looks}
    assert len(pictures) == len(looks)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN", "--to", "a.png", "--cut", "above"], "--cut takes 'y>0.01'"),
        (["RUN", "--to", "a.png", "--cut", "y>wide"], "--cut takes 'y>0.01'"),
        (["RUN", "--to", "a.png", "--cut", "box:0,0"], "--cut takes 'y>0.01'"),
        (["nowhere.npz", "--to", "a.html"], "nowhere.npz"),
        (["scene.py", "--to", "a.html"], "run it first"),
        (["RUN", "--to", "a.docx"], "ending must be one of"),
        (["RUN", "--to", "no/a.html"], "does not exist"),
        (["RUN", "--to", "a.png", "--size", "big"], "WIDTHxHEIGHT"),
        (["RUN", "--to", "a.html", "--color", "heat"], "no colouring 'heat'"),
        (["RUN", "--to", "a.html", "--fps", "-2"], "fps"),
        (["broken.npz", "--to", "a.html"], "broken.npz is not a saved world or run"),
        (["world.npz", "--to", "a.html"], "holds a world, not a run"),
        (["later.npz", "--to", "a.html"], "another version of Pliant ('pliant run 9'"),
    ],
)
def test_bad_input_is_one_paragraph(pliant, saved_run, scene, tmp_path, arguments, said):
    import pliant as pl

    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    np.savez(tmp_path / "later.npz", header=np.array(json.dumps({"format": "pliant run 9"})))
    if arguments[0] == "world.npz":
        pl.load(saved_run).world.save(tmp_path / "world.npz")
    code, _, err = pliant("export", *(saved_run if one == "RUN" else one for one in arguments))
    assert code == 1
    assert said in err
    assert "Traceback" not in err


def test_films_say_what_is_missing(pliant, saved_run, monkeypatch):
    monkeypatch.setenv("PATH", "")
    code, _, err = pliant("export", saved_run, "--to", "a.mp4")
    assert code == 1
    assert "ffmpeg" in err
    assert "a.gif" in err


def test_play_serves_the_run_and_ends_cleanly(saved_run):
    """The address comes as JSON on standard output, which holds nothing else; then the page is there."""
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "pliant", "play", str(saved_run), "--port", "0", "--no-open", "--json", "-"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        address = json.loads(told)
        assert address["what"] == str(saved_run)
        assert address["url"] == f"http://localhost:{address['port']}"
        with urllib.request.urlopen(address["url"], timeout=20) as page:
            assert b"<html" in page.read().lower()
        process.terminate()
        rest, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert (rest, errors.count("Pliant viewer at")) == ("", 1)
    finally:
        process.kill()
        process.wait()


def test_without_a_file_the_kinds_are_listed(pliant, saved_run):
    code, out, _ = pliant("export", saved_run, "--json", "-")
    assert code == 0
    assert {".html", ".gif", ".glb", ".pvd"} <= set(json.loads(out))


def test_play_refuses_what_is_no_run(pliant, scene):
    start = time.perf_counter()
    code, _, err = pliant("play", scene)
    assert code == 1
    assert "run it first" in err
    assert time.perf_counter() - start < 20.0
