"""A run as files: surfaces, pages, films, pictures and tables."""

import csv
import re
import stat
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.export_film import film_frames, write_mp4
from pliant.viewer.export_surfaces import chosen_frames, shown_run
from pliant.viewer.picture import write_picture
from pliant.viewer.shapes import tube_frames
from pliant.viewer.surfaces import bounds, floor_height


@pytest.fixture(scope="module")
def run():
    """A soft bar with a cable, a ball that falls beside it, and obstacles of which one moves."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (3, 1, 1))
    bar = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    cable = scene.add(pl.Cable(bar, [(0.001, 0.01, 0.003), (0.059, 0.01, 0.003)], name="cable"))
    ball = scene.add(pl.RigidBody.sphere(radius=0.005, mass=0.01, position=(0.03, 0.05, 0.05), name="ball"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.05)))
    scene.collide(ball, floor)
    scene.add(pl.Obstacle.sphere(center=(0, 0, 0.1), radius=0.01, motion=lambda t: ((t, 0, 0), (0, 0, 0)), name="moon"))
    return pl.simulate(
        scene.compile(),
        pl.ImplicitEuler(dt=0.01),
        until=0.2,
        control=lambda t, state: {cable: pl.Displacement(0.02 * t)},
    )


def test_frames_are_spread_over_time():
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 1.0])
    np.testing.assert_array_equal(chosen_frames(times, None), np.arange(6))
    np.testing.assert_array_equal(chosen_frames(times, 2.0), [0, 4, 5])
    np.testing.assert_array_equal(chosen_frames(times, 1000.0), np.arange(6))
    with pytest.raises(pl.InputError, match="fps"):
        chosen_frames(times, 0.0)


def test_a_run_is_shown_with_all_that_stands_in_its_world(run):
    shown = shown_run(run, fps=10.0)
    by_name = {surface.label.partition(",")[0]: surface for surface in shown.surfaces}
    assert set(by_name) == {"bar", "ball", "cable", "moon", "contact forces"}
    assert shown.floor == pytest.approx(-0.05)
    np.testing.assert_allclose(shown.times, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(by_name["bar"].frames, run.points("bar")[shown.frames])
    np.testing.assert_allclose(by_name["ball"].frames.mean(axis=1), run.poses("ball")[shown.frames, 0], atol=1e-9)
    np.testing.assert_allclose(by_name["moon"].frames[:, :, 0].mean(axis=1), shown.times, atol=1e-9)
    tension = run.actuation("cable")[1][shown.frames]
    np.testing.assert_allclose(
        by_name["cable"].values, np.repeat(tension[:, None], by_name["cable"].frames.shape[1], 1)
    )
    assert by_name["bar"].value_label == "von Mises stress (kPa)"


def test_colours_are_chosen_and_checked(run):
    assert shown_run(run, color="plain").surfaces[0].values is None
    moved = shown_run(run, color="displacement").surfaces[0]
    away = 1e3 * np.linalg.norm(run.points("bar") - run.points("bar")[0], axis=2)
    np.testing.assert_allclose(moved.values, away, atol=1e-12)
    with pytest.raises(pl.InputError, match="no colouring 'heat'"):
        shown_run(run, color="heat")


def test_a_tube_is_closed_has_the_volume_of_a_prism_and_faces_outward():
    line = np.linspace((0, 0, 0), (0.3, 0.4, 0.0), 5)[None]
    points, triangles = tube_frames(line, 0.01)
    tube = pl.mesh.Surface.from_triangles(points[0], triangles)
    tube.check_closed()
    tube.check_orientation()
    hexagon = 1.5 * np.sqrt(3.0) * 0.01**2
    assert tube.volume() == pytest.approx(0.5 * hexagon, rel=1e-9)


def test_a_page_holds_every_body_and_the_floor(run, tmp_path):
    page = pl.export(run, tmp_path / "a.html", fps=20, title="A bar & a ball")
    text = page.read_text(encoding="utf-8")
    assert "<title>A bar &amp; a ball</title>" in text
    assert all(f'"label":"{name}"' in text for name in ("bar", "ball", "cable", "moon"))
    assert re.search(r'"floor":-0\.05\b', text)


def test_a_film_is_drawn_from_one_place_and_moves(run):
    frames = list(film_frames(shown_run(run, fps=10.0), size=(96, 64)))
    assert [frame.shape for frame in frames] == [(64, 96, 3)] * 3
    assert all(frame.dtype == np.uint8 for frame in frames)
    assert all(np.abs(a.astype(int) - b).max() > 20 for a, b in pairwise(frames))
    # far from the bodies nothing moves: the camera stays
    np.testing.assert_array_equal(frames[0][:3], frames[-1][:3])


def test_a_gif_has_all_frames_at_the_right_pace(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = pl.export(run, tmp_path / "a.gif", fps=20, size=(96, 64))
    with image.open(path) as gif:
        assert gif.n_frames == 5
        assert gif.size == (96, 64)
        assert gif.info["duration"] == 50
        assert gif.info["loop"] == 0


def test_films_need_even_sizes(run, tmp_path):
    with pytest.raises(pl.InputError, match="even"):
        pl.export(run, tmp_path / "a.gif", size=(95, 64))


def fake_ffmpeg(folder, text):
    program = folder / "ffmpeg"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_ffmpeg_is_given_every_frame(run, tmp_path, monkeypatch):
    fake_ffmpeg(
        tmp_path,
        "import sys; data = sys.stdin.buffer.read(); open(sys.argv[-1], 'w').write(f'{len(data)} {sys.argv[1:]}')",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    text = write_mp4(tmp_path / "a.mp4", shown_run(run, fps=10.0), size=(96, 64), fps=10.0).read_text()
    assert text.startswith(f"{3 * 96 * 64 * 3} ")
    assert "'96x64'" in text


def test_what_ffmpeg_complains_about_is_told(run, tmp_path, monkeypatch):
    fake_ffmpeg(tmp_path, "import sys; sys.stderr.write('no such codec'); sys.exit(1)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pl.PliantError, match="no such codec"):
        pl.export(run, tmp_path / "a.mp4", fps=10.0, size=(96, 64))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pl.MissingExtraError, match="ffmpeg"):
        pl.export(run, tmp_path / "a.mp4", fps=10.0)


def test_pictures_and_strips(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    with image.open(pl.export(run, tmp_path / "a.png", size=(320, 180), poses=2)) as picture:
        assert picture.size == (320, 180)
    with image.open(pl.export(run, tmp_path / "b.png", size=(90, 60), strip=3)) as strip:
        assert strip.size == (270, 60)
        assert len(np.unique(np.asarray(strip.convert("L")))) > 20, "not blank"


def test_a_series_for_paraview_lists_files_that_can_be_read(run, tmp_path):
    series = pl.export(run, tmp_path / "a.pvd", fps=10.0)
    sets = ElementTree.parse(series).getroot().findall("./Collection/DataSet")
    assert len(sets) == 2 * 3
    assert [float(one.get("timestep")) for one in sets[::2]] == pytest.approx([0.0, 0.1, 0.2])
    bar = pl.mesh.load(tmp_path / sets[-2].get("file"), unit="m")
    np.testing.assert_allclose(bar.points, run.points("bar")[-1], atol=1e-12)


def test_curves_as_a_table(run, tmp_path):
    with pl.export(run, tmp_path / "a.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(run.times)
    tension = [float(row["actuator force: cable (N)"]) for row in rows]
    np.testing.assert_allclose(tension, run.actuation("cable")[1], atol=1e-9)


def test_what_cannot_be_written_is_told(run, tmp_path):
    with pytest.raises(pl.InputError, match=r"\.html, \.gif"):
        pl.export(run, tmp_path / "a.docx")
    with pytest.raises(pl.InputError, match=r"must be a pl\.Run"):
        pl.export(run.world, tmp_path / "a.html")


def test_a_run_from_a_file_looks_the_same(run, tmp_path):
    simple = pl.Run(**{**vars(run), "world": None, "stepper": None})
    loaded = pl.load(simple.save(tmp_path / "a.npz"))
    shown = shown_run(loaded, fps=10.0)
    assert {surface.label.partition(",")[0] for surface in shown.surfaces} == {"bar", "ball", "contact forces"}
    assert shown.surfaces[0].value_label == "displacement (mm)"


def test_the_floor_of_pictures_is_where_the_plane_is(tmp_path):
    """A cube that rests on a plane at −1 mm: its picture is the one of a floor at that height, not of one below it."""
    cube = pl.mesh.box((0.03, 0.03, 0.03), (2, 2, 2)).translated((0, 0, -0.001))
    scene = pl.Scene()
    body = scene.add(pl.Volume(cube, pl.materials.dragon_skin_20(), name="cube"))
    scene.collide(body, scene.add(pl.Obstacle.plane(point=(0, 0, -0.001))))
    run = pl.Run.of([scene.compile().initial_state()])
    shown = shown_run(run, color="plain")
    assert shown.floor == -0.001
    lower, upper = bounds(shown.surfaces)
    assert floor_height(lower, upper, shown.floor) == -0.001
    assert floor_height(lower, upper, -5.0) != -5.0  # out of view
    whole = pl.export(run, tmp_path / "cube.png", poses=1, size=(320, 180), color="plain", title="cube").read_bytes()
    drawn = {"surfaces": shown.surfaces, "size": (320, 180), "title": "cube", "times": [0.0]}
    assert write_picture(tmp_path / "right.png", floor=-0.001, **drawn).read_bytes() == whole
    assert write_picture(tmp_path / "low.png", floor=-0.004, **drawn).read_bytes() != whole


def test_see_through_and_cut_away(tmp_path):
    scene = pl.Scene()
    finger = scene.add(pl.robots.finger())
    run = pl.Run.of([scene.compile().initial_state()])
    half = pl.regions.box((-1, -1, -1), (1, 0.0, 1))
    whole, clear, cut = (shown_run(run, **look).surfaces[0] for look in ({}, {"opacity": 0.3}, {"cut": half}))
    assert (whole.opacity, clear.opacity) == (1.0, 0.3)
    inside = finger.body.mesh.points[np.unique(cut.triangles)]
    assert inside[:, 1].max() > 0.0
    assert set(np.unique(cut.triangles)) - set(np.unique(whole.triangles)) or len(cut.triangles) < len(whole.triangles)
    files = {}
    for name, look in (("whole", {}), ("clear", {"opacity": 0.3}), ("cut", {"cut": half})):
        files[name] = pl.export(run, tmp_path / f"{name}.png", poses=1, size=(320, 180), **look).read_bytes()
    assert len(set(files.values())) == 3
    assert '"opacity":0.3' in pl.export(run, tmp_path / "clear.html", opacity=0.3).read_text()
    with pytest.raises(pl.InputError, match="opacity must be above 0 and at most 1"):
        pl.export(run, tmp_path / "none.png", opacity=0.0)
    with pytest.raises(pl.InputError, match="cut must be a region"):
        pl.export(run, tmp_path / "none.png", cut="y")
