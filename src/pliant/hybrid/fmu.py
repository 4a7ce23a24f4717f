"""Export of a system as a functional mock-up unit, for Modelica tools and other simulators.

The unit is an FMI 2.0 co-simulation unit made by pythonfmu. It carries the system, pickled by value, and needs Pliant
in the Python that the importing tool starts.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pliant.core.errors import InputError, MissingExtraError
from pliant.hybrid.system import System


def export_fmu(system: System, path: str | Path, **options: Any) -> Path:
    """Write `system` as an FMU to `path`, a file that ends in .fmu, and return that file.

    Inputs are u, outputs q, v, λ and modes, numbered from 1 as in `q[1]`; `options` go to `integrate` inside the unit
    (rtol, atol, order, max_step). Check it with FMPy: ``fmpy.simulate_fmu(path, stop_time=…)``.
    """
    try:
        import cloudpickle
        from pythonfmu.builder import FmuBuilder
    except ImportError as error:
        raise MissingExtraError('FMUs are made by pythonfmu: pip install "pliant[hybrid]"') from error
    path = Path(path)
    if path.suffix != ".fmu":
        raise InputError(f"the file of an FMU must end in .fmu, got {path.name!r}")
    name = re.sub(r"\W", "_", path.stem) or "system"
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / f"{name}.py", Path(folder) / "system.pkl"
        shutil.copyfile(Path(__file__).with_name("fmu_slave.py"), script)
        data.write_bytes(cloudpickle.dumps((system, options)))
        built = FmuBuilder.build_FMU(script, dest=folder, project_files={data}, needsExecutionTool="true")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, path)
    return path
