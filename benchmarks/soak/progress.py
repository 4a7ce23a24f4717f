"""The folder of a soak: one file for each finished episode, the last state of each robot, and the steps that failed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.soak.episodes import SECONDS, STEPPERS, Failure, Record, Robots, controls_of, run_episode, stepper_of
from pliant.core.errors import InputError, MissingExtraError
from pliant.world import State

KEPT_FAILURES = 3
"""Failed steps that are saved of each class and robot: more of them say nothing new."""


class Progress:
    """Episodes done so far, in `folder`; a folder belongs to one seed and one length of episodes, `seconds`."""

    def __init__(self, folder: Path, *, seed: int = 0, seconds: float = SECONDS) -> None:
        self.folder, self.seed, self.seconds = folder, seed, seconds
        folder.mkdir(parents=True, exist_ok=True)
        self._check("soak.json", {"seed": seed, "seconds": seconds, "steppers": list(STEPPERS)})

    def done(self, robot: str) -> int:
        """Count of finished episodes of `robot`."""
        return len(list(self._of(robot).glob("episode-*.json")))

    def records(self, robot: str) -> list[Record]:
        """What its episodes measured."""
        return [Record(**json.loads(path.read_text())) for path in sorted(self._of(robot).glob("episode-*.json"))]

    def start(self, robot: str, robots: Robots) -> State | None:
        """Where its next episode starts; None: at rest."""
        index = self.done(robot)
        path = self._of(robot) / "state.npz"
        if index % len(STEPPERS) == 0 or not path.exists():
            return None
        before, own = (robots.scene(robot, stepper_of(k)).world for k in (index - 1, index))
        state = before.load_state(path)
        return state if own is before else own.adopt(state)  # without friction, which geometric steps do not know

    def keep(self, record: Record, state: State, failures: list[Failure]) -> None:
        """Write the outcome of an episode, last the file that makes it count."""
        path, end = self._of(record.robot), self._of(record.robot) / "state.npz"
        path.mkdir(exist_ok=True)
        if record.stepper.startswith("Geometric"):
            end.unlink(missing_ok=True)
        else:
            replace_file(end, lambda part: state.save(part))
        for failure in failures:
            self._keep_failure(record, failure)
        text = json.dumps(asdict(record), default=float)
        replace_file(path / f"episode-{record.index:04d}.json", lambda part: part.write_text(text))

    def _keep_failure(self, record: Record, failure: Failure) -> None:
        folder = self._of(record.robot) / "failures"
        folder.mkdir(exist_ok=True)
        known = [json.loads(path.read_text())["why"] for path in folder.glob("*.json")]
        if known.count(failure.why) >= KEPT_FAILURES:
            return
        path = folder / f"{record.index:04d}-{failure.step:04d}.npz"
        failure.state.save(path)
        about = {"robot": record.robot, "stepper": record.stepper, "why": failure.why, "time": failure.state.time}
        path.with_suffix(".json").write_text(
            json.dumps(about | {"kinds": failure.kinds, "amounts": failure.amounts}, indent=1)
        )

    def _of(self, robot: str) -> Path:
        return self.folder / robot.replace(" ", "-")

    def _check(self, name: str, wanted: dict[str, Any]) -> None:
        path = self.folder / name
        if not path.exists():
            replace_file(path, lambda part: part.write_text(json.dumps(wanted)))
        found = json.loads(path.read_text())
        if found != wanted:
            raise InputError(f"{self.folder} holds a soak with {found}, asked for {wanted}; give another --folder")


def replace_file(path: Path, write: Any) -> None:
    """Write a file beside `path` and move it there: a killed process leaves the old one, or none."""
    part = path.with_name(f"part-{path.name}")
    write(part)
    part.replace(path)


def soak(names: list[str], progress: Progress, *, minutes: float, wall: float = np.inf, say: Any = print) -> bool:
    """Episodes of the robots `names` in turn until each has `minutes` of simulated time, episodes that were cut short
    counted in full; whether that was reached within `wall` minutes by the clock.
    """
    robots, deadline = Robots(), perf_counter() + 60.0 * wall
    waiting = dict.fromkeys(names)
    while waiting:
        for robot in list(waiting):
            index = progress.done(robot)
            if index * progress.seconds >= 60.0 * minutes:
                del waiting[robot]
                continue
            if perf_counter() > deadline:
                return False
            try:
                if not robots.can_take(robot, stepper_of(index)):
                    progress.keep(Record(robot, index, stepper_of(index)), *_nothing(robots, robot))
                    continue
                start = progress.start(robot, robots)
                found = run_episode(
                    robots, robot, index, seed=progress.seed, seconds=progress.seconds, start=start, deadline=deadline
                )
            except MissingExtraError as error:
                say(f"{robot} is left out: {error}")
                del waiting[robot]
                continue
            if perf_counter() > deadline:
                return False
            progress.keep(*found)
            say(line_of(found[0]))
    return True


def repeat(path: Path) -> str:
    """Do the failed step saved at `path` again, and say what happens."""
    about = json.loads(path.with_suffix(".json").read_text())
    robots = Robots()
    scene = robots.scene(about["robot"], about["stepper"])
    state = scene.world.load_state(path.with_suffix(".npz"))
    step = robots.stepper(about["robot"], about["stepper"])
    controls = controls_of(scene, tuple(about["kinds"]), about["amounts"])
    following, info = step(scene.world, state, controls)
    measured, pair = scene.penetration(following)
    return (
        f"{about['robot']}, {about['stepper']}, t = {state.time:g} s, was: {about['why']}\n"
        f"now: {info.status.text}, penetration {1e3 * measured:.3f} mm ({pair}), "
        f"reported {1e3 * info.penetration:.3f} mm"
    )


def line_of(record: Record) -> str:
    """One line about an episode."""
    cpu = 1e3 * np.array(record.cpu or [0.0])
    times = f"{np.median(cpu):.1f} / {np.percentile(cpu, 99):.1f} / {cpu.max():.1f} ms"
    counts = "; ".join(f"{count} × {what}" for what, count in record.counts.items())
    return f"{record.robot} {record.index} {record.stepper}: {record.simulated:.2f} s, {times}  {counts}"


def _nothing(robots: Robots, robot: str) -> tuple[State, list[Failure]]:
    return robots.scene(robot, stepper_of(0)).world.initial_state(), []
