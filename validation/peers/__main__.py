"""Computes the answers of the programs that are installed and writes them to figures.json.

python -m validation.peers
"""

from __future__ import annotations

from collections.abc import Callable

from pliant.core.errors import MissingExtraError
from validation import rod_rollouts
from validation.peers import asked, drops, statics, swings


def main() -> None:
    """Ask every program, then write what was answered."""
    asks: tuple[Callable[[], list[asked.Answer]], ...] = (
        lambda: [statics.felupe_beam("tet10"), statics.felupe_beam("hex8"), statics.felupe_dome("hex8")],
        lambda: [statics.calculix_beam("tet10"), statics.calculix_beam("hex8"), statics.calculix_dome("hex8")],
        lambda: [swings.mujoco("Euler", 2e-5), swings.mujoco("discrete", 1e-3)],
        lambda: [swings.drake(1e-3), swings.drake(5e-4)],
        lambda: [drops.mujoco(5e-6, 1e9), drops.drake(2.5e-4), drops.drake(5e-5)],
        lambda: [rod_rollouts.soromox(count) for count in rod_rollouts.SOROMOX],
        lambda: [rod_rollouts.elastica(count) for count in rod_rollouts.ELASTICA],
    )
    for ask in asks:
        try:
            ask()
        except MissingExtraError as error:
            print(error)
    asked.store(asked.FRESH)
    print(f"{len(asked.FRESH)} answers written to {asked.FIGURES.name}")


if __name__ == "__main__":
    main()
