"""The reader of C3D files: every variant of the format, and every way in which a file can be damaged."""

import struct
import time
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from benchmarks.fuzz.c3d_writer import DEC, INTEL, MIPS, written
from pliant.recordings.c3d import parse_c3d

POINTS = np.random.default_rng(3).uniform(-300.0, 300.0, (12, 5, 3))


@pytest.fixture
def load(tmp_path):
    def loaded(content, **options):
        file = tmp_path / "take.c3d"
        file.write_bytes(content)
        return pl.recordings.load_c3d(file, **options)

    return loaded


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("analogue", [0, 3])
def test_every_variant_gives_the_same_points(load, processor, floats, analogue):
    gaps = [(0, 0), (4, 2), (11, 4)]
    take = load(written(POINTS, processor=processor, floats=floats, analogue=analogue, gaps=gaps))
    assert take.rate == 100.0
    assert take.labels == ("M0", "M1", "M2", "M3", "M4")
    assert take.gap_count == 3
    assert np.isnan(take.points[tuple(np.transpose(gaps))]).all()
    seen = ~take.gaps
    assert np.abs(take.points[seen] - 1e-3 * POINTS[seen]).max() < (2e-8 if floats else 5.1e-6)


@pytest.mark.parametrize(
    ("unit", "metres"), [("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("Meters", 1.0), ("inch", 0.0254)]
)
def test_points_are_in_metres(load, unit, metres):
    assert load(written(POINTS, unit=unit)).points == pytest.approx(metres * POINTS, rel=1e-6)


def test_a_unit_that_is_missing_unknown_or_contradicted_is_an_error(load):
    with pytest.raises(pl.UnitError, match="does not say its unit"):
        load(written(POINTS, unit=""))
    assert load(written(POINTS, unit=""), unit="cm").points == pytest.approx(0.01 * POINTS, rel=1e-6)
    with pytest.raises(pl.UnitError, match="volts"):
        load(written(POINTS, unit="volts"))
    with pytest.raises(pl.UnitError, match="is in mm"):
        load(written(POINTS), unit="m")


def test_labels_may_be_missing_and_frames_more_than_the_header_counts(load):
    assert load(written(POINTS, labels=["a", "", "c", "", ""])).labels == ("a", "marker 2", "c", "marker 4", "marker 5")
    many = np.zeros((70000, 1, 3))
    content = bytearray(written(many, extra=[("LONG_FRAMES", 4, (), struct.pack("<f", 70000.0))]))
    content[6:10] = struct.pack("<2H", 1, 65535)
    assert len(load(bytes(content))) == 70000


def test_numbers_that_are_not_finite_are_gaps(load):
    points = POINTS.copy()
    points[3, 1, 2] = np.nan
    points[5, 0, 0] = np.inf
    assert load(written(points)).gap_count == 2


def test_what_is_no_c3d_file_says_so(load, tmp_path):
    good = written(POINTS)
    for content, words in (
        (b"", "0 bytes"),
        (b"time,x,y,z\n" * 200, "begins with bytes"),
        (good[:700], "700 bytes"),
        (good[:1200], "do not fit"),
        (good[:515] + bytes([7]) + good[516:], "processor type is 7"),
        (good[:2] + struct.pack("<H", 60000) + good[4:], "header has 60000 markers"),
        (good[:6] + struct.pack("<2H", 9, 3) + good[10:], "frames"),
    ):
        with pytest.raises(pl.FileFormatError, match=words):
            load(content)
    with pytest.raises(pl.FileFormatError, match="no file"):
        pl.recordings.load_c3d(tmp_path / "nowhere.c3d")
    with pytest.raises(pl.FileFormatError, match="no file"):
        pl.recordings.load_c3d(tmp_path)


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
def test_damaged_files_are_refused_or_read_but_never_crash(processor):
    """A thousand files with bytes changed, cut or inserted: a recording or an error of ours, quickly."""
    rng = np.random.default_rng(processor)
    good = np.frombuffer(written(POINTS, processor=processor, floats=bool(processor % 2)), np.uint8)
    refused, start = 0, time.process_time()
    for _ in range(1000):
        bad = good.copy()
        where = rng.integers(0, rng.choice([24, 1024, len(bad)]), rng.integers(1, 6))
        bad[where] = rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))], len(where))
        if rng.random() < 0.2:
            bad = bad[: rng.integers(len(bad))]
        elif rng.random() < 0.1:
            bad = np.insert(bad, rng.integers(len(bad)), bad[:3])
        try:
            take = parse_c3d(bad.tobytes(), Path("take.c3d"))
            assert take.points.shape[2] == 3
            assert take.points.size < 2 * len(bad)
        except (pl.FileFormatError, pl.UnitError):
            refused += 1
    assert 200 < refused < 1000
    assert time.process_time() - start < 20.0
