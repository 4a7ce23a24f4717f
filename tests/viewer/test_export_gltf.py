"""glTF files, read back by a parser of our own after the specification, and by trimesh where it is installed."""

import base64
import io
import json
import struct

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.core.errors import InputError
from pliant.viewer.export_gltf import rigid_motion, write_gltf
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.surfaces import SurfaceFrames

TIMES = np.array([0.5, 0.6, 0.8, 1.1])
CUBE = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
FACES = np.array(
    [(0, 2, 3), (0, 3, 1), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4), (2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2),
     (1, 3, 7), (1, 7, 5)]
)  # fmt: skip


def turned(t):
    return Rotation.from_rotvec((0.0, 0.0, 2.0 * t)).as_matrix()


@pytest.fixture
def shown():
    """A cube that is stretched, one that turns, and one that stays."""
    soft = np.stack([CUBE * (1.0, 1.0, 1.0 + t) for t in TIMES])
    rigid = np.stack([CUBE @ turned(t).T + (t, 0.0, 0.0) for t in TIMES])
    surfaces = (
        SurfaceFrames(FACES, soft, label="soft", color="#ff0000"),
        SurfaceFrames(FACES, rigid, label="rigid"),
        SurfaceFrames(FACES, CUBE[None] + 5.0, label="still"),
    )
    return Shown(surfaces, TIMES, np.arange(4))


SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class File:
    """The parts of a glTF file, each accessor checked against its view and the buffer."""

    def __init__(self, path):
        if path.suffix == ".glb":
            self.document, self.buffer = self._chunks(path.read_bytes())
        else:
            self.document = json.loads(path.read_text(encoding="utf-8"))
            address = self.document["buffers"][0]["uri"]
            assert address.startswith("data:application/octet-stream;base64,")
            self.buffer = base64.b64decode(address.split(",")[1])
        assert self.document["asset"]["version"] == "2.0"
        assert len(self.document["buffers"]) == 1
        assert 0 <= len(self.buffer) - self.document["buffers"][0]["byteLength"] < 4

    def _chunks(self, data):
        magic, version, length = struct.unpack("<4sII", data[:12])
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack("<I4s", data[12:20])
        assert kind == b"JSON"
        assert size % 4 == 0
        rest = data[20 + size :]
        buffer_size, buffer_kind = struct.unpack("<I4s", rest[:8])
        assert buffer_kind == b"BIN\0"
        assert buffer_size % 4 == 0
        assert len(rest) == 8 + buffer_size
        return json.loads(data[20 : 20 + size]), rest[8:]

    def array(self, number):
        accessor = self.document["accessors"][number]
        view = self.document["bufferViews"][accessor["bufferView"]]
        kind, size = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]], SIZES[accessor["type"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteLength"] == 4 * size * accessor["count"]
        assert view["byteOffset"] + view["byteLength"] <= len(self.buffer)
        array = np.frombuffer(self.buffer, kind, size * accessor["count"], view["byteOffset"])
        array = array.reshape(accessor["count"], size) if size > 1 else array
        if "min" in accessor:
            np.testing.assert_array_equal(np.atleast_1d(array.min(axis=0)), np.float32(accessor["min"]))
            np.testing.assert_array_equal(np.atleast_1d(array.max(axis=0)), np.float32(accessor["max"]))
        return array

    def node(self, name):
        return next((k, node) for k, node in enumerate(self.document["nodes"]) if node["name"] == name)

    def channels(self, node):
        (animation,) = self.document["animations"]
        chosen = [channel for channel in animation["channels"] if channel["target"]["node"] == node]
        return {channel["target"]["path"]: animation["samplers"][channel["sampler"]] for channel in chosen}


@pytest.fixture(params=[".glb", ".gltf"])
def file(request, shown, tmp_path):
    return File(write_gltf(tmp_path / f"a{request.param}", shown, title="cubes"))


def test_every_accessor_fits_and_positions_state_their_limits(file):
    for number in range(len(file.document["accessors"])):
        assert np.isfinite(file.array(number)).all()
    for mesh in file.document["meshes"]:
        for part in (mesh["primitives"][0]["attributes"], *mesh["primitives"][0].get("targets", [])):
            assert "min" in file.document["accessors"][part["POSITION"]]
    used = {view["bufferView"] for view in file.document["accessors"]}
    assert used == set(range(len(file.document["bufferViews"])))


def test_a_deforming_surface_is_a_mesh_with_a_target_for_each_later_instant(file, shown):
    number, node = file.node("soft")
    mesh = file.document["meshes"][node["mesh"]]
    primitive = mesh["primitives"][0]
    assert len(primitive["targets"]) == len(mesh["weights"]) == 3
    base = file.array(primitive["attributes"]["POSITION"])
    corners = file.array(primitive["indices"]).reshape(-1, 3)
    assert corners.max() < len(base)
    assert len(base) == 24, "each side of a cube has vertices of its own, for its normals"
    sampler = file.channels(number)["weights"]
    clock = file.array(sampler["input"])
    np.testing.assert_allclose(clock, TIMES - TIMES[0], atol=1e-6)
    weights = file.array(sampler["output"]).reshape(4, 3)
    wanted = shown.surfaces[0].frames
    for k in range(4):
        moved = base + sum(w * file.array(t["POSITION"]) for w, t in zip(weights[k], primitive["targets"], strict=True))
        np.testing.assert_allclose(moved[corners], wanted[k][FACES], atol=1e-6)
    normals = file.array(primitive["attributes"]["NORMAL"])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    a, b, c = (base[corners[:, i]] for i in range(3))
    assert (np.einsum("ti,ti->t", np.cross(b - a, c - a), normals[corners[:, 0]]) > 0.0).all()


def test_a_rigid_motion_is_told_by_its_poses(file, shown):
    number, node = file.node("rigid")
    primitive = file.document["meshes"][node["mesh"]]["primitives"][0]
    assert "targets" not in primitive
    channels = file.channels(number)
    shifts, turns = (file.array(channels[path]["output"]) for path in ("translation", "rotation"))
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-6)
    base = file.array(primitive["attributes"]["POSITION"])
    corners = file.array(primitive["indices"]).reshape(-1, 3)
    for k in range(4):
        moved = Rotation.from_quat(turns[k]).apply(base) + shifts[k]
        np.testing.assert_allclose(moved[corners], shown.surfaces[1].frames[k][FACES], atol=1e-6)


def test_what_stays_is_not_animated_and_up_is_y(file):
    number, _ = file.node("still")
    assert file.channels(number) == {}
    root = file.document["nodes"][file.document["scenes"][0]["nodes"][0]]
    np.testing.assert_allclose(Rotation.from_quat(root["rotation"]).apply((0, 0, 1)), (0, 1, 0), atol=1e-12)
    assert sorted(root["children"]) == [1, 2, 3]
    colour = file.document["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"]
    assert colour == pytest.approx([1.0, 0.0, 0.0, 1.0])


def test_trimesh_reads_the_same_bodies(shown, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.load(write_gltf(tmp_path / "a.glb", shown))
    assert set(scene.geometry) == {"soft", "rigid", "still"}
    assert scene.geometry["soft"].volume == pytest.approx(1.0 + TIMES[0], rel=1e-5)
    assert scene.bounds[1][1] == pytest.approx(6.0), "z is y there"


def test_rigid_motions_are_told_from_others():
    spin = np.stack([CUBE @ turned(t).T for t in np.linspace(0.0, 3.0, 20)])
    shifts, turns = rigid_motion(spin)
    np.testing.assert_allclose(shifts, 0.0, atol=1e-12)
    assert (np.einsum("ti,ti->t", turns[1:], turns[:-1]) > 0.0).all(), "the short way round"
    assert rigid_motion(np.stack([CUBE, CUBE * 1.001])) is None
    mirrored = np.stack([CUBE - 0.5, (CUBE - 0.5) * (1.0, 1.0, -1.0)])
    skewed = mirrored + 0.1 * np.array([[(0, 0, 0)], [(1, 0, 0)]]) * CUBE[:, :1]
    assert rigid_motion(skewed) is None


def test_other_endings_are_refused(shown, tmp_path):
    with pytest.raises(InputError, match=r"\.glb or \.gltf"):
        write_gltf(tmp_path / "a.obj", shown)


@pytest.mark.slow
def test_three_js_loads_the_file_and_plays_it(tmp_path, browser):
    """The loader that browsers use, in the client of viser: it draws the cube, and the cube grows."""
    viser, image = pytest.importorskip("viser"), pytest.importorskip("PIL.Image")
    times = np.linspace(0.0, 60.0, 61)  # slow, so that no two pictures are of the same instant of two rounds
    growing = np.stack([(CUBE - 0.5) * (1.0, 1.0, 1.0 + 0.1 * t) for t in times])
    shown = Shown((SurfaceFrames(FACES, growing, label="soft", color="#ff0000"),), times, np.arange(61))
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        server.scene.add_glb("/cube", write_gltf(tmp_path / "a.glb", shown).read_bytes())
        server.initial_camera.position, server.initial_camera.look_at = (0.0, 3.0, 12.0), (0.0, 0.0, 0.0)
        page = browser.new_page(viewport={"width": 900, "height": 600})
        problems = []
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.goto(f"http://127.0.0.1:{server.get_port()}")
        red: list[int] = []
        for _ in range(60):
            page.wait_for_timeout(1000)
            picture = np.asarray(image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
            middle = picture[:, 350:550]  # beside the panel and the notices
            red.append(int(((middle[..., 0] > 150) & (middle[..., 1] < 140)).sum()))
            if max(red) > 500 and red[-1] > 1.2 * next(count for count in red if count > 500):
                break
    finally:
        server.stop()
    assert not problems
    assert max(red) > 500, f"the cube is not drawn: {red}"
    assert red[-1] > 1.2 * next(count for count in red if count > 500), f"the cube does not grow: {red}"
