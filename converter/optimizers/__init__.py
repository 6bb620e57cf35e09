"""Implements the optimizers once, as pure functions on the flat vector; `apply` is traced from them.

The formulas are those of Keras 3, so that a federated run can be compared with a central one.
"""

from converter.optimizers.optimizer_factory import FACTORIES, Optimizer, compiled_optimizer, make_optimizer
from converter.optimizers.part_optimizers import PartOptimizers, objective_optimizers
from converter.optimizers.update_wrappers import is_constrained

__all__ = [
    "FACTORIES",
    "Optimizer",
    "PartOptimizers",
    "compiled_optimizer",
    "is_constrained",
    "make_optimizer",
    "objective_optimizers",
]
