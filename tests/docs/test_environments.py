"""The tables of docs/gym.md say what the tasks declare."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_tasks_are_documented_as_they_are():
    spec = importlib.util.spec_from_file_location("environments", ROOT / "docs" / "environments.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.with_section(text, "tasks", page.tasks_section()) == text, "run python docs/environments.py"
    for section in ("measured", "arm", "learned Reach", "learned FollowTarget"):
        assert text.split(f"<!-- {section} -->")[1].split("<!-- end of")[0].count("|") > 10, section
