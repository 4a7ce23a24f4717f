"""What the engine for Ray asks of Ray, by a double that notes every call: connections, nodes, versions, the parcel."""

import logging
import sys
from concurrent.futures import Future
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.sweep.case import compute
from pliant.sweep.ray_cluster import RayCluster
from pliant.sweep.versions import OtherVersionsError, own_versions

STARTING = "Starting Ray client server failed. See logs"


def node(name, cores=2.0, *, alive=True, **more):
    resources = {} if cores is None else {"CPU": cores}
    return {"NodeID": name, "NodeManagerAddress": f"at {name}", "Alive": alive, "Resources": resources, **more}


class Double(ModuleType):
    """The part of Ray that the engine calls; `refusals` are raised by the first attempts to connect."""

    def __init__(self, nodes, refusals=(), versions=own_versions):
        super().__init__("ray")
        names = (
            "WorkerCrashedError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError", "LocalRayletDiedError",
        )  # fmt: skip
        self.exceptions = SimpleNamespace(**{name: type(name, (Exception,), {}) for name in names})
        self.listed, self.refusals, self.versions = nodes, list(refusals), versions
        self.connections, self.entered, self.left, self.gone = [], 0, [], False
        self.stored, self.remotes, self.asked, self.timeout = [], [], [], None

    def init(self, address, **options):
        self.connections.append((address, options))
        if self.refusals:
            raise self.refusals.pop(0)
        return self

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *error):
        self.left.append("exit")

    def disconnect(self):
        self.left.append("disconnect")

    def is_initialized(self):
        return not self.gone

    def nodes(self):
        return self.listed

    def put(self, array):
        self.stored.append(array)
        return "the parcel"

    def remote(self, **options):
        return lambda function: Remote(self, function, options)

    def get(self, asked, *, timeout):
        self.timeout = timeout
        return [one() for one in asked]


class Remote:
    def __init__(self, ray, function, options):
        self.ray, self.function = ray, function
        ray.remotes.append((function, options))

    def options(self, *, scheduling_strategy):
        self.ray.asked.append(scheduling_strategy)
        return self

    def remote(self, *arguments):
        if not arguments:
            return self.ray.versions
        if self.ray.gone == "between":
            raise ConnectionError("lost")
        future = Future()
        future.set_result(arguments)
        return SimpleNamespace(future=lambda: future)


@pytest.fixture
def ray(monkeypatch):
    """Puts a double in the place of Ray."""

    def put(nodes=None, **options):
        double = Double([node("a")] if nodes is None else nodes, **options)
        affinity = lambda name, *, soft: (name, soft)  # noqa: E731
        schemes = ModuleType("ray.util.scheduling_strategies")
        schemes.NodeAffinitySchedulingStrategy = affinity
        for name, module in (
            ("ray", double), ("grpc", ModuleType("grpc")), ("ray.util", ModuleType("ray.util")),
            ("ray.util.scheduling_strategies", schemes),
        ):  # fmt: skip
            monkeypatch.setitem(sys.modules, name, module)
        return double

    level = logging.getLogger("ray").level
    yield put
    logging.getLogger("ray").setLevel(level)


@pytest.mark.parametrize(("host", "said"), [("10.0.0.5", "10.0.0.5"), ("::1", "[::1]")])
def test_a_connection_of_its_own_is_given_back(ray, host, said):
    double = ray()
    engine = RayCluster(host, 10001)
    assert (engine.name, engine.slots) == (f"ray://{host}:10001", 1)
    with engine as entered:
        assert entered is engine
        ((address, options),) = double.connections
        assert address == f"ray://{said}:10001"
        assert options["allow_multiple"], "the user may have a cluster of his own"
        assert (double.entered, double.left) == (1, [])
    assert double.left == ["exit", "disconnect"]


def test_the_nodes_that_are_alive_and_have_cores_tell_their_versions(ray):
    nodes = [node("a", 2.0), node("dead", 8.0, alive=False), node("b", 1.0), node("head", 0.0), node("bare", None)]
    double = ray(nodes)
    with RayCluster("host", 1) as engine:
        assert engine.slots == 3
        assert double.asked == [("a", False), ("b", False)], "each is asked itself, no other node for it"
        assert double.remotes[0][1] == {"num_cpus": 0, "max_retries": 0}
        assert 0.0 < double.timeout < 600.0


def test_other_versions_are_named_with_their_node_and_the_connection_is_left(ray):
    double = ray([node("a")], versions=lambda: own_versions() | {"numpy": "1.0"})
    with pytest.raises(OtherVersionsError, match=r"numpy 1\.0 instead of .* on at a"):
        RayCluster("host", 1).__enter__()
    assert double.left == ["exit", "disconnect"]


def test_a_cluster_without_cores_computes_nothing(ray):
    double = ray([node("a", 0.0), node("b", 4.0, alive=False)])
    with pytest.raises(pl.PliantError, match=r"ray://host:1 has no node with a free core; nothing was computed"):
        RayCluster("host", 1).__enter__()
    assert double.left == ["exit", "disconnect"]


def test_a_server_that_hangs_in_its_start_is_asked_three_times(ray):
    double = ray(refusals=[ConnectionError(STARTING)] * 2)
    with RayCluster("host", 1):
        assert len(double.connections) == 3
    double = ray(refusals=[RuntimeError(STARTING)] * 3)
    with pytest.raises(pl.PliantError, match="no Ray that serves this client"):
        RayCluster("host", 1).__enter__()
    assert len(double.connections) == 3
    double = ray(refusals=[ValueError("refused")])
    with pytest.raises(pl.PliantError, match="no Ray that serves this client: refused"):
        RayCluster("host", 1).__enter__()
    assert len(double.connections) == 1, "another error is not one that passes"
    double = ray(refusals=[RuntimeError("Python VERSION mismatch")])
    with pytest.raises(OtherVersionsError, match="mismatch"):
        RayCluster("host", 1).__enter__()
    assert not double.left


def test_a_case_carries_the_parcel_and_is_not_retried_by_ray(ray):
    double = ray()
    with RayCluster("host", 1) as engine:
        engine.send(b"packed", "digest")
        (stored,) = double.stored
        assert (stored.dtype, stored.tobytes()) == (np.uint8, b"packed")
        assert double.remotes[-1] == (compute, {"num_cpus": 1, "max_retries": 0})
        assert engine.submit((7, "case")).result() == ("the parcel", "digest", 7, "case")
        double.gone = "between"
        with pytest.raises(pl.PliantError, match="connection to ray://host:1 is lost"):
            engine.submit((7, "case"))
    assert engine._parcel is None, "the cluster may drop it"
    assert engine._compute is None


def test_a_lost_connection_ends_the_sweep(ray):
    double = ray()
    with RayCluster("host", 1) as engine:
        engine.send(b"packed", "digest")
        engine.check()
        double.gone = True
        for call in (engine.check, lambda: engine.submit((0, "case"))):
            with pytest.raises(pl.PliantError, match="connection to ray://host:1 is lost"):
                call()


def test_what_dies_with_a_worker_is_a_loss(ray):
    double = ray()
    lost = RayCluster("host", 1).lost
    assert {ConnectionError, *vars(double.exceptions).values()} == set(lost)
