import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.viewer.palette import COLOR_MAP, map_colors, rgb, srgb_to_linear
from pliant.viewer.surfaces import (
    SurfaceFrames,
    check_surfaces,
    floor_height,
    grid_spacing,
    length_text,
    split_creases,
    value_scales,
    vertex_normals,
)


def test_wrong_input_is_refused_by_name(beam):
    nan = beam.frames.copy()
    nan[3, 5, 1] = np.nan
    outside = np.array([[0, 1, beam.frames.shape[1]]])
    with pytest.raises(InputError, match=r"'beam': frames must be finite.*\[3, 5, 1\]"):
        SurfaceFrames(beam.triangles, nan, None, "beam")
    with pytest.raises(InputError, match="frames must have shape"):
        SurfaceFrames(beam.triangles, beam.frames[0])
    with pytest.raises(InputError, match="triangles must index"):
        SurfaceFrames(outside, beam.frames)
    with pytest.raises(InputError, match="triangles must index"):
        SurfaceFrames(np.array([[0, 1, -1]]), beam.frames)
    with pytest.raises(InputError, match="triangles must be whole numbers"):
        SurfaceFrames(beam.triangles.astype(float), beam.frames)
    with pytest.raises(InputError, match="values must have shape"):
        SurfaceFrames(beam.triangles, beam.frames, beam.values[:, :-1])
    with pytest.raises(InputError, match="#rrggbb"):
        SurfaceFrames(beam.triangles, beam.frames, color="red")
    with pytest.raises(InputError, match="at least one SurfaceFrames"):
        check_surfaces([])


def test_compact_keeps_the_used_vertices_only(beam):
    compact = beam.compact()
    used = np.unique(beam.triangles)
    assert compact.frames.shape[1] == len(used) < beam.frames.shape[1]
    assert np.array_equal(compact.frames[:, compact.triangles], beam.frames[:, beam.triangles])
    assert np.array_equal(compact.values[:, compact.triangles], beam.values[:, beam.triangles])


def test_creases_split_the_edges_of_a_box_and_nothing_else(make_box):
    points, triangles = make_box((1.0, 1.0, 1.0), (4, 4, 4))
    corners, source = split_creases(points, triangles)
    assert np.array_equal(source[corners], triangles)
    assert len(source) == 6 * 5 * 5
    normals = vertex_normals(points[source], corners)
    assert np.allclose(np.sort(np.abs(normals), axis=1), [0.0, 0.0, 1.0])
    assert np.all(np.einsum("ij,ij->i", normals, points[source] - 0.5) > 0.49)


def test_a_smooth_sphere_is_not_split(make_box):
    points, triangles = make_box((2.0, 2.0, 2.0), (8, 8, 8))
    used, triangles = np.unique(triangles, return_inverse=True)
    points = points[used] - 1.0
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    corners, source = split_creases(points, triangles.reshape(-1, 3))
    assert len(source) == len(points)
    assert np.einsum("ij,ij->i", vertex_normals(points[source], corners), points[source]).min() > 0.98


def test_scales_are_shared_by_label_and_clip_a_few_peaks(beam):
    peak = beam.values.copy()
    peak[0, beam.triangles[0, 0]] = 1e6
    (scale,) = value_scales([beam, SurfaceFrames(beam.triangles, beam.frames, peak, "b", beam.value_label)])
    assert scale.clipped
    assert scale.low == 0.0
    assert scale.high == pytest.approx(beam.values.max(), rel=0.05)
    assert not value_scales([beam])[0].clipped
    assert value_scales([beam])[0].high == beam.values.max()


@pytest.mark.parametrize(("size", "spacing"), [(0.25, 0.02), (1.0, 0.1), (4.9, 0.2), (5.1, 0.5)])
def test_grid_spacing_is_round(size, spacing):
    assert grid_spacing(np.zeros(3), np.array([size, 0.0, 0.0])) == pytest.approx(spacing)


def test_floor_is_at_zero_only_for_motions_just_above_it():
    unit = np.ones(3)
    assert floor_height(0.1 * unit, 1.1 * unit) == 0.0
    assert floor_height(-0.5 * unit, 0.5 * unit) < -0.5
    assert 5.0 > floor_height(5.0 * unit, 6.0 * unit) > 4.5


def test_lengths_are_written_in_the_unit_a_reader_expects():
    assert [length_text(x) for x in (2.0, 0.05, 2e-4)] == ["2 m", "50 mm", "200 µm"]


def test_color_map_brightens_evenly():
    table = np.stack([rgb(color) for color in COLOR_MAP])
    assert np.allclose(map_colors(np.linspace(0.0, 1.0, len(table))), table)
    # Lightness of CIE L*: rising, no step more than twice the mean.
    luminance = srgb_to_linear(table) @ [0.2126, 0.7152, 0.0722]
    steps = np.diff(116.0 * np.cbrt(luminance) - 16.0)
    assert steps.min() > 0.0
    assert steps.max() < 2.0 * steps.mean()
