"""Export of a system as a functional mock-up unit, for Modelica tools and other simulators.

The unit is a co-simulation unit of FMI 2.0, made by pythonfmu, or 3.0, made by pythonfmu3. It carries the system,
pickled by value, and needs Pliant in the Python that the importing tool starts.

An FMU is a program: the tool that imports one executes the Python code in it. Only units of people who are trusted
should be imported; Pliant itself imports none.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.extras import extra
from pliant.core.replacing import replacing
from pliant.hybrid.system import HybridSystem

_BUILDERS = {"2.0": ("pythonfmu", "fmi2.py"), "3.0": ("pythonfmu3", "fmi3.py")}
"""The package that builds a unit, and the file of `fmu_slaves` inside it; those files are never imported here."""


@declared
def export_fmu(system: HybridSystem, path: str | Path, *, version: str = "2.0", **options: Any) -> Path:
    """Write `system` as an FMU of FMI `version` "2.0" or "3.0" to `path`, a file that ends in .fmu; return that file.

    Inputs are u, outputs q, v, λ and modes, numbered from 1 as in `q[1]`; `options` go to `integrate` inside the unit
    (rtol, atol, order, max_step). Check it with FMPy: ``fmpy.simulate_fmu(path, stop_time=…)``. Who imports the file
    executes the code in it, as with every FMU.
    """
    if version not in _BUILDERS:
        raise InputError(f'version must be "2.0" or "3.0", got {version!r}')
    package, slave = _BUILDERS[version]
    builder = extra(f"{package}.builder", f"FMU export needs {package}", "hybrid").FmuBuilder
    cloudpickle = extra("cloudpickle", "FMU export needs cloudpickle", "hybrid")
    path = Path(path)
    if path.suffix != ".fmu":
        raise InputError(f"the file of an FMU must end in .fmu, got {path.name!r}")
    content = cloudpickle.dumps((system, options))
    mark = hashlib.sha256(version.encode() + content).hexdigest()[:8]  # units in one process share its modules
    name = (re.sub(r"\W", "_", path.stem) or "system") + "_" + mark
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / f"{name}.py", Path(folder) / "system.pkl"
        shutil.copyfile(Path(__file__).with_name("fmu_slaves") / slave, script)
        data.write_bytes(content)
        built = builder.build_FMU(script, dest=folder, project_files={data}, needsExecutionTool="true")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            shutil.copyfile(built, part)
    return path
