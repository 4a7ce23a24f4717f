"""Which messages of a browser the viewer takes, and how many.

viser sets whatever attribute of a control a message names to whatever value it has, and opens a public tunnel on
request. Here only the kinds of messages that the page sends for the viewer's controls pass, with finite numbers, and
values that the control can have.
"""

from __future__ import annotations

import math
import time
from typing import Any

_KINDS = {
    "CommandTriggerMessage", "GetRenderResponseMessage", "GuiButtonHoldMessage", "GuiUpdateMessage",
    "LocalStorageGetItemResponseMessage", "SceneNodeClickMessage", "SceneNodeDragMessage", "ScenePointerMessage",
    "TransformControlsDragEndMessage", "TransformControlsDragStartMessage", "TransformControlsUpdateMessage",
    "ViewerCameraMessage",
}  # fmt: skip
_DEEPEST = 8
"""Levels of lists within lists in a message."""
LONGEST_TEXT = 1000
"""Characters of a text that is typed into a control."""


class Allowance:
    """An amount that is used up and comes back at `rate` a second, up to `most`."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most = rate, most
        self._left, self._when = most, time.monotonic()

    def delay(self, amount: float) -> float:
        """Take `amount`; returns how long to wait for it, s."""
        now = time.monotonic()
        self._left = min(self._most, self._left + self._rate * (now - self._when)) - amount
        self._when = now
        return max(0.0, -self._left / self._rate)


def complaint(content: Any, decode: Any, control_of: Any) -> str | None:
    """Why `content`, a message as it came, is not taken; None where it is.

    `decode` makes values of it; ``control_of(uuid)`` is the control of that name, None where there is none.
    """
    if not isinstance(content, bytes):
        return "messages of the page are bytes"
    try:
        message = decode(content)
    except Exception:  # whatever the bytes spell
        return "not a message of the page"
    if not isinstance(message, dict) or message.get("type") not in _KINDS:
        return "not a kind of message that the viewer takes"
    if not _finite(message):
        return "a number of the message is not finite"
    if message["type"] == "GuiUpdateMessage":
        updates = message.get("updates")
        if not isinstance(updates, dict) or set(updates) != {"value"} or not isinstance(message.get("uuid"), str):
            return "only values of controls can be changed"
        control = control_of(message["uuid"])
        if control is not None and not _fits(control, updates["value"]):
            return "the control cannot have that value"
    return None


def _finite(value: Any, depth: int = 0) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**63
    if isinstance(value, (dict, list, tuple)):
        values = value.values() if isinstance(value, dict) else value
        return depth < _DEEPEST and all(_finite(each, depth + 1) for each in values)
    return True


def _fits(control: Any, value: Any) -> bool:
    """Whether a control of the panel can have `value`: of the kind of its own, within its limits."""
    present = control.value
    if isinstance(present, bool):
        return isinstance(value, bool)
    if isinstance(present, (int, float)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        low, high = getattr(control, "min", None), getattr(control, "max", None)
        return (low is None or value >= low - _slack(low, high)) and (high is None or value <= high + _slack(low, high))
    if isinstance(present, str):
        options = getattr(control, "options", None)
        return isinstance(value, str) and len(value) <= LONGEST_TEXT and (options is None or value in options)
    if isinstance(present, (tuple, list)):
        numbers = isinstance(value, (tuple, list)) and all(isinstance(x, (int, float)) for x in value)
        return numbers and len(value) == len(present)
    return False


def _slack(low: Any, high: Any) -> float:
    """What the page's rounding may add to a limit."""
    return float(1e-6 * (1.0 + abs(low or 0.0) + abs(high or 0.0)))
