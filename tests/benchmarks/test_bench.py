"""The bench reports: documented keys on a tiny beam, errors, peers by a stand-in environment."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from benchmarks.other_programs import peer_python, run_peers
from benchmarks.tables import TABLES
from benchmarks.tasks import BENCHES, coverage, rod, rod_finger, run_bench, shooting
from benchmarks.tasks.beam import Variant, peer_setup, run_beam
from benchmarks.tasks.memory import run_memory
from benchmarks.tasks.rod import run_rod
from benchmarks.tasks.threads import run_threads
from benchmarks.tasks.touch import run_contacts
from pliant.optimization.problem import Case, Problem

DOCUMENTED = {
    "step_ms",
    "floor_ms",
    "floor_ratio",
    "stages_ms",
    "nodes",
    "tets",
    "rows",
    "residual",
    "nonlinear_residual",
    "outside_kernels_ms",
    "kernel_calls",
}
TINY = Variant((4, 1, 1), steps=3)


@pytest.fixture
def no_peers(monkeypatch, tmp_path):
    monkeypatch.delenv("PLIANT_PEERS", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("no_peers")
def test_report_of_a_tiny_beam_has_the_documented_keys(monkeypatch):
    variants = {"default_element": Variant((4, 1, 1), steps=3, anti_locking=True)}
    monkeypatch.setitem(BENCHES, "beam", lambda **options: run_beam(headline=TINY, variants=variants, **options))
    report = run_bench("beam")
    assert report["name"] == "beam"
    assert report["peers"] == {}
    for entry in (report, report["variants"]["default_element"]):
        assert set(entry) >= DOCUMENTED
        assert entry["nodes"] == 20
        assert entry["tets"] == 24
        assert entry["rows"] == 0
        assert entry["residual"] < 1e-10
        assert 0.0 < entry["nonlinear_residual"] < 1.2  # of one solve: elasticity and damping err in one direction
        assert 0.0 < entry["floor_ms"] < entry["step_ms"]
        assert entry["floor_ratio"] == pytest.approx(entry["step_ms"] / entry["floor_ms"])
        assert set(entry["stages_ms"]) >= {"linearize", "factorize", "solve"}
        assert entry["outside_kernels_ms"] > 0.0
        assert 4 <= entry["kernel_calls"] < 25  # assembly, balance, factor and two halves of a solve at least
    assert report["variants"]["default_element"]["blocks"] > report["blocks"]
    assert json.loads(json.dumps(report)) == report


def test_unknown_bench_names_the_known_ones():
    with pytest.raises(pl.InputError, match=r"no bench 'beem'.*beam"):
        run_bench("beem")


def test_data_is_refused_where_a_bench_reads_none(tmp_path):
    with pytest.raises(pl.InputError, match="reads no data"):
        run_bench("beam", data=tmp_path)


@pytest.mark.usefixtures("no_peers")
def test_no_environment_means_no_peers():
    assert peer_python() is None
    assert run_peers({"any": ("mujoco_beam.py",)}, {}) == ({}, {})


def test_a_named_environment_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("PLIANT_PEERS", str(tmp_path / "nowhere"))
    with pytest.raises(pl.InputError, match="nowhere"):
        peer_python()


def test_peers_read_the_setup_and_failures_are_reported(monkeypatch, tmp_path):
    environment = tmp_path / "venv" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to(sys.executable)
    scripts = tmp_path / "peers"
    scripts.mkdir()
    monkeypatch.setattr("benchmarks.other_programs.SCRIPTS", scripts)
    (scripts / "good.py").write_text(
        "import sys, json, zipfile\n"
        "names = zipfile.ZipFile(sys.argv[1]).namelist()\n"
        "print('noise'); print(json.dumps({'step_ms': float(sys.argv[2]), 'points': 'points.npy' in names}))\n"
    )
    (scripts / "bad.py").write_text("raise SystemExit('it went wrong')\n")
    monkeypatch.setenv("PLIANT_PEERS", str(environment.parent))
    monkeypatch.chdir(tmp_path)
    commands = {"good": ("good.py", 1.5), "bad": ("bad.py",), "gone": ("gone.py",)}
    reports, errors = run_peers(commands, peer_setup(TINY.mesh()))
    assert reports == {"good": {"step_ms": 1.5, "points": True}}
    assert "it went wrong" in errors["bad"]
    assert "gone.py" in errors["gone"]
    assert Path.cwd() == tmp_path


@pytest.mark.usefixtures("no_peers")
@pytest.mark.parametrize("name", ["finger", "trunk", "block", "gripper"])
def test_benches_of_what_pushes_report_rows_and_both_elements(name):
    report = BENCHES[name](steps=2)
    default = report["variants"]["default_element"]
    for entry in (report, default):
        assert entry["step_ms"] > 0.0
        assert entry["residual"] < 1e-6
        assert {"rows", "condense", "constraints"} <= set(entry["stages_ms"])
    least = {"finger": 1, "trunk": 8, "block": 3 * 64, "gripper": 120}[name]
    assert report["rows"] >= least
    assert default["rows"] >= least
    if name in ("finger", "trunk"):
        assert report["variants"]["inverse"]["rows"] == least + 3  # the cables and the tip


def test_the_bench_of_contacts_has_a_thousand_of_them():
    report = run_contacts(steps=2)
    assert report["rows"] == 3 * 1024
    assert report["residual"] < 1e-6
    assert set(report) >= DOCUMENTED


def test_side_by_side_data_that_is_missing_is_named(tmp_path):
    with pytest.raises(pl.InputError, match=r"holds no finger\.json"):
        run_bench("finger", data=tmp_path)


@pytest.mark.usefixtures("no_peers")
def test_the_bench_of_a_rod_reports_its_accuracy():
    report = run_rod(steps=3, variants={}, fingers=False)
    assert report["peers"] == report["peer_errors"] == {}
    assert report["static_sag_mm"] == pytest.approx(29.4, abs=0.1)
    assert set(report) >= DOCUMENTED | {"accurate_ms", "accurate_dt", "accurate_error"}
    assert report["unknowns"] == 24
    assert report["residual"] < 1e-10
    assert 0.0 < report["accurate_error"] < 1e-3


def test_the_finger_with_a_rod_as_its_cable_comes_to_rest(tmp_path):
    """At every pull, also at 20 mm, which curls it up."""
    with pytest.raises(pl.InputError, match=r"holds no finger\.json"):
        run_rod(data=tmp_path, steps=1, variants={})
    report = rod_finger.rod_finger_reports(None, 2)
    assert list(report) == ["finger_0_mm", "finger_10_mm", "finger_20_mm"]
    assert all(one["rest_speed"] < 1e-5 for one in report.values())
    forces = [one["force_N"] for one in report.values()]
    assert forces[0] < 0.01 < forces[1] < forces[2]


def test_the_bench_of_a_rod_hands_its_rod_to_the_peers(monkeypatch):
    """Each named script is there, and gets the same rod: length, radius, material, gravity and step."""
    asked = {}
    monkeypatch.setattr(
        rod, "run_peers", lambda commands, setup: asked.update(commands=commands, setup=setup) or ({}, {})
    )
    run_rod(steps=3, variants={}, fingers=False)
    assert set(asked["commands"]) == {"pyelastica", "soromox"}
    for script, *_ in asked["commands"].values():
        assert (Path(__file__).parents[2] / "benchmarks" / "peers" / script).is_file()
    setup = asked["setup"]
    assert setup["radius"] ** 4 * 3.14159265 / 4 == pytest.approx(0.04**4 / 12, rel=1e-6)
    assert (setup["length"], setup["young"], setup["gravity"], setup["dt"]) == (0.2, 0.5e6, 9.81, 0.01)


def test_the_bench_of_threads_compares_one_with_two(monkeypatch):
    """A beam too small for two threads, made to use them: divided fronts and halved points, with the same bits."""
    monkeypatch.setattr("pliant.solvers.linear.halves.LEAST", 0.0)
    monkeypatch.setattr("pliant.models.volume.halved.MANY", 10)
    report = run_threads(variants={"beam": Variant(cells=(8, 2, 2))}, steps=2)
    entry = report["beam"]
    assert entry["same_bits"]
    assert entry["tets"] == 6 * 8 * 2 * 2
    assert entry["critical_ms"]["2"] < entry["critical_ms"]["1"] * 1.5
    assert min(entry["step_ms"].values()) > 0.0
    assert entry["stages_ms"]["1"].keys() == entry["stages_ms"]["2"].keys() != set()
    assert list(TABLES["threads"](report))[-1].endswith("| yes |")


def test_the_bench_of_memory_compares_with_the_law_without_it(tmp_path):
    report = run_memory(steps=4, passes=2)
    assert {body: list(laws) for body, laws in report.items()} == {
        "finger": ["without", "three branches", "Mullins"],
        "rod": ["without", "three branches"],
        "beam": ["without", "three branches"],
    }
    for laws in report.values():
        assert laws["without"]["ratio"] == 1.0
        for entry in laws.values():
            assert entry["ratio"] == pytest.approx(entry["step_ms"] / laws["without"]["step_ms"])
            assert 0.5 < entry["ratio"] < 4.0  # of four steps on a machine in use
    assert len(list(TABLES["memory"](report))) == 9
    with pytest.raises(pl.InputError, match="leave out --data"):
        run_memory(data=tmp_path)


def test_a_trial_of_coverage_finds_modulus_and_friction():
    """Fewer poses: modulus within 1 % and friction within 5 %, and the truth within twice the interval (4 σ)."""
    found = coverage.trial(0, pulls=(0.005, 0.01, 0.0075, 0.005))
    for name, true in (("young", coverage.YOUNG), ("friction", coverage.FRICTION)):
        value, low, high = found[name]
        assert abs(value / true - 1.0) < coverage.LIMITS[name]
        assert abs(value - true) < high - low < 0.12 * true
    assert 0.7 < found["noise_factor"] < 1.3


def test_the_bench_of_coverage_counts_intervals_that_cover_the_truth(monkeypatch):
    def trial(seed, pulls):
        young, friction = np.array([0.995, 0.98, 1.001]), np.array([1.06, 1.0, 1.1])
        shift = 0.0 if seed else 0.02
        return {
            "noise_factor": np.array(1.0), "young": coverage.YOUNG * (young + shift),
            "friction": coverage.FRICTION * (friction + shift),
        }  # fmt: skip

    monkeypatch.setattr(coverage, "trial", trial)
    monkeypatch.setattr(coverage.sweep, "run", lambda task, cases, **options: [task(case) for case in cases])
    report = coverage.run_coverage(trials=4)
    assert (report["young"]["covered"], report["friction"]["covered"], report["both_covered"]) == (4, 3, 3)
    assert (report["young"]["within"], report["friction"]["within"]) == (3, 0)
    assert report["friction"]["largest_error"] == pytest.approx(0.08)
    assert sum(line.startswith("|") for line in TABLES["coverage"](report)) == 4


def test_the_bench_of_shooting_gives_both_searches_the_same_loss(monkeypatch):
    pytest.importorskip("cma")
    throw = shooting.Throw(4)
    guess = throw.free.guess
    problem = Problem(throw.world, shooting.STEPPER, [Case(throw.loss, control=throw.held)], (throw.pull,), None)
    assert throw.value(guess) == pytest.approx(problem.value(problem.first)[0], rel=1e-9)
    monkeypatch.setattr(shooting, "MOST", 8)
    rollouts, loss, _ = throw.evolved(1)
    assert rollouts >= 8
    assert shooting.NEAR < loss < 1e6


def test_without_cma_the_bench_of_shooting_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(pl.PliantError, match="pip install cma"):
        shooting.Throw(4).evolved(1)
