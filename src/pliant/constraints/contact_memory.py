"""What a pair of colliding sides keeps of a step: its contacts, and the frames in which their friction acts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.collision import ContactSet
from pliant.constraints.memory import Memory, as_saved
from pliant.core.checks import check_array
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class ContactMemory(Memory):
    """Contacts of a pair and their frames (m, 3, 3), or normals (m, 1, 3) without friction, for the next step."""

    contacts: ContactSet = field(metadata=as_saved(kind=ContactSet))
    frames: FloatArray

    def forces(self, lam: FloatArray) -> FloatArray:
        """Force on side a at each contact, (m, 3), N, from the multipliers of the pair's rows."""
        count = self.contacts.count
        each = lam.reshape(count, -1) if count else np.zeros((0, 1))
        total: FloatArray = np.einsum("mk,mki->mi", each, self.frames[:, : each.shape[1]])
        return total

    def check(self, width: int) -> None:
        """An error where contacts and frames, of `width` directions each, do not belong together."""
        self.contacts.check()
        check_array("frames of contacts", self.frames, (self.contacts.count, width, 3))
