"""Records of a sweep: headers of stored cases, differences of sweeps, names of files, fingerprints of cases."""

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant import sweep
from pliant.core.archive import write_archive
from pliant.sweep.records import FORMAT, Records
from pliant.sweep.run import _stored


def test_times_and_machines_of_stored_cases_come_back(tmp_path):
    records = Records.opened(tmp_path, {})
    records.write(0, {"x": 1.0}, {"value": np.array(5)}, 1.5, {"machine": "far"})
    records.write(1, {"x": 2.0}, {"value": np.array(6)}, 2.5)
    first, second = (outcome for _, outcome in _stored(records, [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]))
    assert (first.index, first.seconds, first.made, first.stored) == (0, 1.5, {"machine": "far"}, True)
    assert (second.index, second.seconds, int(second.result["value"])) == (1, 2.5, 6)
    assert second.made["versions"]["numpy"] == np.__version__, "this process made it"


@pytest.mark.parametrize(
    "header", [{"seconds": "long"}, {"made": []}, {"made": {"machine": 3}}, {"made": {"versions": 1}}]
)
def test_a_stored_case_that_does_not_say_how_it_was_made_is_computed_again(tmp_path, header):
    records = Records.opened(tmp_path, {})
    whole = {"case": 1, "case_digest": sweep.digest_of(1), "identity": {}, "seconds": 1.0} | header
    write_archive(records.path(0), FORMAT, {"value": np.array(5)}, header=whole)
    with pytest.warns(pl.PliantWarning, match=r"does not say when and where.*computed again"):
        assert records.read(0, 1) is None


def test_every_difference_of_two_sweeps_is_named(tmp_path):
    Records.opened(tmp_path, {"world": "a", "plan": "p", "same": "s"})
    with pytest.raises(pl.InputError, match=r"another plan and world \(p instead of None, a instead of b\)"):
        Records.opened(tmp_path, {"world": "b", "same": "s"})
    label = tmp_path / "sweep.json"
    for text in ("[", "{}", '{"identity": []}', "[" * 10**5):
        label.write_text(text)
        with pytest.raises(pl.FileFormatError, match="does not say what the results beside it belong to"):
            Records.opened(tmp_path, {})


def test_names_of_files_sort_as_the_cases():
    records = Records(Path("f"), {})
    assert [records.path(k).name for k in (0, 99999, 100000)] == [
        "case_00000.npz", "case_99999.npz", "case_100000.npz",
    ]  # fmt: skip


def test_fingerprints_of_cases_do_not_depend_on_the_order_of_names():
    assert sweep.digest_of({"a": 1, "b": [2.5, None]}) == sweep.digest_of({"b": [2.5, None], "a": 1})
    assert len({sweep.digest_of(case) for case in (1, 2, "1", [1], {"1": 1}, 1.5, None)}) == 7
