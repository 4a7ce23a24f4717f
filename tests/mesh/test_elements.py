"""Shape functions: Kronecker property, completeness, gradients; tables: faces outward, edges, flips."""

import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.mesh.elements import (
    ELEMENTS,
    element_table,
    shape,
    shape_gradients,
)

_TET = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
_HEX = np.array(
    [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], dtype=float
)
_TRI = np.array([(0, 0), (1, 0), (0, 1)], dtype=float)
NODES = {
    "tet4": _TET,
    "tet10": np.vstack([_TET, [_TET[[a, b]].mean(axis=0) for a, b in ELEMENTS["tet10"].edges]]),
    "hex8": _HEX,
}
FACET_NODES = {
    "tri3": _TRI,
    "tri6": np.vstack([_TRI, [_TRI[[a, b]].mean(axis=0) for a, b in ((0, 1), (1, 2), (2, 0))]]),
    "quad4": np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float),
}
FUNCTIONS = [(name, shape, shape_gradients, nodes) for name, nodes in NODES.items()]
FUNCTIONS += [(name, shape, shape_gradients, nodes) for name, nodes in FACET_NODES.items()]
EACH = pytest.mark.parametrize(("name", "values", "gradients", "nodes"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])


@EACH
def test_each_function_is_one_at_its_node_and_zero_at_the_others(name, values, gradients, nodes):
    assert values(name, nodes) == pytest.approx(np.eye(len(nodes)), abs=1e-14)


@EACH
def test_functions_reproduce_constants_and_linear_fields(name, values, gradients, nodes):
    xi = np.random.default_rng(1).uniform(-0.2, 0.8, (20, nodes.shape[1]))
    assert values(name, xi).sum(axis=1) == pytest.approx(np.ones(20), abs=1e-13)
    assert values(name, xi) @ nodes == pytest.approx(xi, abs=1e-13)


@EACH
def test_gradients_match_the_complex_step(name, values, gradients, nodes):
    xi = np.random.default_rng(2).uniform(0.0, 0.5, (7, nodes.shape[1]))
    found = gradients(name, xi)
    for axis in range(nodes.shape[1]):
        shifted = xi.astype(complex)
        shifted[:, axis] += 1e-30j
        assert found[:, :, axis] == pytest.approx(values(name, shifted).imag / 1e-30, abs=1e-13)


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_faces_point_outward(name):
    table, nodes = ELEMENTS[name], NODES[name]
    center = nodes.mean(axis=0)
    for face in table.faces:
        for triangle in face[table.face_triangles]:
            a, b, c = nodes[triangle]
            assert np.cross(b - a, c - a) @ (a - center) > 0


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_flip_mirrors_the_cell_and_is_its_own_inverse(name):
    table, nodes = ELEMENTS[name], NODES[name]
    xi = np.full((1, 3), 0.2)
    jacobian = np.einsum("ki,kj->ij", nodes[table.flip], shape_gradients(name, xi)[0])
    assert np.linalg.det(jacobian) == pytest.approx(-1.0)
    assert (table.flip[table.flip] == np.arange(table.node_count)).all()


def test_edges_of_a_tet10_carry_its_middle_nodes():
    table, nodes = ELEMENTS["tet10"], NODES["tet10"]
    for face in table.faces:
        for i in range(3):
            middle = nodes[[face[i], face[(i + 1) % 3]]].mean(axis=0)
            assert nodes[face[3 + i]] == pytest.approx(middle)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="'tet4', 'tet10', 'hex8'"):
        element_table("tet5")
    with pytest.raises(InputError, match="'tri6'"):
        shape("tri7", np.zeros((1, 2)))
