"""Runs `tensorflowjs_converter` without the libraries that it imports for models of other kinds.

It is run by the interpreter of environment.py, with the converter's arguments.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_OTHER_KINDS = ("tensorflow_decision_forests", "jax", "jax.experimental", "jax.experimental.jax2tf")


def main() -> None:
    # Keras looks for JAX, too, and must not find what stands in for it.
    for name in ("tensorflow", "keras", "tf_keras"):
        import_module(name)
    for name in _OTHER_KINDS:
        sys.modules[name] = ModuleType(name)
    vars(sys.modules["jax.experimental"])["jax2tf"] = sys.modules["jax.experimental.jax2tf"]
    import_module("tensorflowjs.converters.converter").convert(sys.argv[1:])


if __name__ == "__main__":
    main()
