"""Draws the pictures of the templates of `pliant new`: `python docs/templates.py` writes docs/images/new-KIND.png.

Each template is run as it is written, in a folder of its own; `python docs/templates.py bender arm` draws these two.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pliant.cli.new import KINDS, scene_text
from pliant.cli.scene_file import SceneFile, run_scene
from pliant.viewer.export import export

IMAGES = Path(__file__).resolve().parent / "images"
SIZE = (720, 405)
"""Pixels of a picture: under 200 kB."""


def main(kinds: list[str]) -> None:
    """Run the templates `kinds` and write their pictures."""
    for kind in kinds or list(KINDS):
        with TemporaryDirectory() as folder:
            file = Path(folder) / f"{kind}.py"
            file.write_text(scene_text(kind), encoding="utf-8")
            result = run_scene(SceneFile.read(file))
            if result.stopped is not None:
                raise result.stopped
            picture = export(result.run, IMAGES / f"new-{kind}.png", size=SIZE, title=kind, poses=3)
        print(picture.relative_to(IMAGES.parents[1]), f"{picture.stat().st_size / 1e3:.0f} kB", result.measures)


if __name__ == "__main__":
    main(sys.argv[1:])
