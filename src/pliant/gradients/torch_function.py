"""An objective as a function of PyTorch tensors, with its gradient: a `torch.autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from pliant.core.errors import MissingExtraError
from pliant.gradients.objective import Objective


def torch_function(objective: Objective) -> Callable[[Any], Any]:
    """``f(x)`` for tensors x of any shape and device, a scalar tensor that can be differentiated once."""
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise MissingExtraError("gradients in PyTorch need it: pip install torch") from error

    class Run(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            value, slope = objective(x.detach().cpu().numpy())
            context.save_for_backward(torch.as_tensor(slope).reshape(x.shape).to(x))
            return torch.as_tensor(value, dtype=x.dtype, device=x.device)

        @staticmethod
        def backward(context: Any, by_value: Any) -> Any:
            (slope,) = context.saved_tensors
            return by_value * slope

    made: Callable[[Any], Any] = Run.apply
    return made
