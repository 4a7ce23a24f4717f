import sys

import numpy as np
import pytest

from pliant.core.errors import InputError, MissingExtraError
from pliant.viewer.picture import write_picture
from pliant.viewer.rasterizer import fit_camera, rasterize
from pliant.viewer.surfaces import SurfaceFrames

SMALL = (480, 300)


def read(path):
    return pytest.importorskip("matplotlib.image").imread(path)[..., :3]


@pytest.mark.parametrize("size", [SMALL, (333, 217)])
def test_picture_has_its_size_and_is_not_blank(tmp_path, beam, size):
    path = write_picture(tmp_path / "p.png", surfaces=[beam], title="Beam $x_", times=np.arange(20.0), size=size)
    pixels = read(path)
    assert pixels.shape == (size[1], size[0], 3)
    assert pixels.std() > 0.08


def test_earlier_poses_are_faint_and_the_last_is_solid(tmp_path, beam):
    blue = SurfaceFrames(beam.triangles, beam.frames, None, color="#2040ff")
    # Pairs have the same bounding box, hence the same camera; only the order of the poses differs.
    bent_last = read(write_picture(tmp_path / "a.png", surfaces=[blue], frames=[0, 10], size=SMALL))
    straight_last = read(write_picture(tmp_path / "b.png", surfaces=[blue], frames=[10, 0], size=SMALL))
    blueness_a, blueness_b = bent_last[..., 2] - bent_last[..., 0], straight_last[..., 2] - straight_last[..., 0]
    only_a = (blueness_a > 0.4) & (blueness_b < 0.35)
    only_b = (blueness_b > 0.4) & (blueness_a < 0.35)
    assert only_a.sum() > 500
    assert only_b.sum() > 500
    assert np.median(blueness_b[only_a]) > 0.06


def test_a_wall_hides_what_is_behind_it(tmp_path, beam):
    y = beam.frames[..., 1].min() - 0.01
    corners = np.array([[[-0.1, y, 0.0], [0.3, y, 0.0], [0.3, y, 0.3], [-0.1, y, 0.3]]])
    wall = SurfaceFrames(np.array([[0, 1, 2], [0, 2, 3]]), corners, None, color="#c0c0c0")
    red = SurfaceFrames(beam.triangles, beam.frames, None, color="#ff0000")
    hidden = read(
        write_picture(tmp_path / "a.png", surfaces=[wall, red], size=SMALL, azimuth=-np.pi / 2, elevation=0.1)
    )
    seen = read(write_picture(tmp_path / "b.png", surfaces=[wall, red], size=SMALL, azimuth=np.pi / 2, elevation=0.1))
    assert (hidden[..., 0] - hidden[..., 2]).max() < 0.2
    assert ((seen[..., 0] - seen[..., 2]) > 0.4).sum() > 500


def test_an_inside_out_surface_is_lit_like_its_twin(tmp_path, beam):
    turned = SurfaceFrames(beam.triangles[:, ::-1], beam.frames, beam.values, "beam", beam.value_label)
    usual = read(write_picture(tmp_path / "a.png", surfaces=[beam], size=SMALL))
    inside_out = read(write_picture(tmp_path / "b.png", surfaces=[turned], size=SMALL))
    assert np.abs(usual - inside_out).mean() < 1e-3
    assert np.abs(usual - inside_out).max() < 0.5


def test_wrong_choices_are_refused(tmp_path, beam):
    with pytest.raises(InputError, match="frames must be whole numbers"):
        write_picture(tmp_path / "p.png", surfaces=[beam], frames=[0, 20])
    with pytest.raises(InputError, match="frames must be whole numbers"):
        write_picture(tmp_path / "p.png", surfaces=[beam], frames=[])
    with pytest.raises(InputError, match="size"):
        write_picture(tmp_path / "p.png", surfaces=[beam], size=(0, 10))
    with pytest.raises(InputError, match="times must have shape"):
        write_picture(tmp_path / "p.png", surfaces=[beam], times=[0.0, 1.0])
    with pytest.raises(InputError, match="elevation"):
        write_picture(tmp_path / "p.png", surfaces=[beam], elevation=-0.2)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_command_is_named(tmp_path, beam, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pliant\[plot\]'"):
        write_picture(tmp_path / "p.png", surfaces=[beam], size=SMALL)


def test_matplotlib_state_is_left_alone(tmp_path, beam):
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    write_picture(tmp_path / "p.png", surfaces=[beam], size=SMALL)
    assert dict(matplotlib.rcParams) == before


def test_camera_fits_the_points_tightly():
    points = np.random.default_rng(1).normal(size=(500, 3)) * [0.3, 0.1, 0.05]
    camera = fit_camera(points, size=(640, 480), area=(40.0, 60.0, 500.0, 440.0), azimuth=-1.0, elevation=0.3)
    column, row, near = camera.project(points).T
    assert near.min() > 0.0
    assert 40.0 - 1e-6 <= column.min() <= column.max() <= 500.0 + 1e-6
    assert 60.0 - 1e-6 <= row.min() <= row.max() <= 440.0 + 1e-6
    assert max(np.ptp(column) / 460.0, np.ptp(row) / 380.0) > 0.97
    # The ray through a pixel meets what is projected onto it.
    sight = camera.directions(column - 0.5, row - 0.5)
    assert np.allclose(camera.eye + sight / near[:, None], points)


def test_nearer_triangle_wins_and_coverage_is_the_area():
    square = np.array([[2.0, 2.0, 1.0], [12.0, 2.0, 1.0], [12.0, 12.0, 1.0], [2.0, 12.0, 1.0]])
    ahead = np.array([[2.0, 2.0, 2.0], [12.0, 2.0, 2.0], [2.0, 12.0, 2.0]])
    near, image = np.zeros((16, 16)), np.full((16, 16, 1), np.inf)
    rasterize(ahead, np.full((3, 1), 7.0), np.array([[0, 1, 2]]), near, image)
    rasterize(square, np.full((4, 1), 3.0), np.array([[0, 1, 2], [0, 3, 2]]), near, image)
    assert np.isfinite(image).sum() == 100
    assert (np.abs(image[..., 0] - 7.0) < 1e-12).sum() == pytest.approx(50, abs=5)
