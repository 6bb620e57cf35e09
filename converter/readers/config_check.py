"""Checks a model configuration: it may name only Keras' own layers, losses and so on.

Anything else that Python could import is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import keras

from converter.readers.refused_layers import REFUSED_LAYERS
from converter.refusal import Refusal

_PARTS = (
    "activations|constraints|dtype_policies|initializers|layers|losses|metrics|models|ops|optimizers|quantizers|"
    "random|regularizers"
)
_MODULES = re.compile(rf"keras|keras\.({_PARTS}|optimizers\.schedules)|keras\.src\.({_PARTS})(\.\w+)*")
# Layers that Keras' own applications define beside the functions that build and download them.
_APPLICATION_LAYERS = {
    ("keras.src.applications.convnext", "LayerScale"),
    ("keras.src.applications.convnext", "StochasticDepth"),
    ("keras.src.applications.inception_resnet_v2", "CustomScaleLayer"),
}
_PLAIN = {
    "__tensor__",
    "__numpy__",
    "__bytes__",
    "__ellipsis__",
    "__slice__",
    "__keras_tensor__",
    "__tuple__",
}
_FUNCTIONS = (keras.activations, keras.losses, keras.metrics, keras.initializers, keras.regularizers)
_NO_FUNCTIONS = {"get", "serialize", "deserialize"}
_LAMBDA = (
    "The model holds a Python lambda outside of a Lambda layer, which Keras cannot load again; use Keras' "
    "own layers and activations instead, or on your own machine a function with a name, from the file that "
    "`minga convert ... --custom layers.py` takes."
)
_CUSTOM = (
    "its code is not in the file. On your own machine, convert it with `minga convert ... --custom "
    "layers.py`, the file that defines it; otherwise use Keras' own layers"
)
_WITHOUT = (
    'or save the model without it, keras.saving.load_model("model.keras", compile=False).save("new.keras"), '
    "and name loss, metrics and optimizer under [model] in the task file"
)


class OwnCode(Refusal):
    """Refuses what only the owner's code defines: `subject` says where, `name` is its name."""

    def __init__(self, subject: str, name: str, remedy: str = _CUSTOM) -> None:
        super().__init__(f"{subject}: {remedy}.")
        self.subject, self.name = subject, name

    def missing_in(self, file: str) -> Refusal:
        """Returns the refusal where the owner brought `file`, which lacks the definition."""
        return Refusal(
            f"{self.subject}, but {file} does not define {self.name} at its top level; give --custom the "
            "file that does (imported names and functions inside of others do not count)."
        )


def check_compiled(config: Any, custom: Collection[str] | None = None) -> None:
    """Refuses a compile configuration that names code outside Keras, and says how to leave it out."""
    for key, value in config.items() if isinstance(config, dict) else ():
        try:
            check_config(value, custom)
        except OwnCode as error:
            subject = f"The {key} that the model was compiled with: {error.subject}"
            # Own optimizers cannot be converted with --custom either.
            if key == "optimizer":
                raise Refusal(f"{subject}; compile with Keras' own, {_WITHOUT}.") from error
            remedy = (
                "its code is not in the file. On your own machine, convert it with `minga convert ... "
                f"--custom layers.py`, the file that defines it, {_WITHOUT}"
            )
            raise OwnCode(subject, error.name, remedy) from error
        except _LambdaFound as error:
            raise Refusal(
                f"The {key} that the model was compiled with holds a Python lambda, which Keras cannot load "
                "again; on your own machine give the function a name and convert with `minga convert ... "
                f"--custom layers.py`, the file that defines it, {_WITHOUT}."
            ) from error


class _LambdaFound(Refusal):
    """Refuses a lambda outside of a Lambda layer."""


def check_config(config: Any, custom: Collection[str] | None = None) -> None:
    """Refuses a configuration that names code outside Keras. Raises Refusal.

    `custom` are the names that the owner's own file defines; if given, Lambda layers are allowed too.
    """
    stack = [config]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if "class_name" in node:
                _check_class(node, custom)
            if _is_code(node):
                raise _LambdaFound(_LAMBDA)
            is_lambda = node.get("class_name") == "Lambda" and isinstance(node.get("config"), dict)
            stack.extend(_without_code(node["config"]) if is_lambda else node.values())


def _is_code(node: dict[str, Any]) -> bool:
    """Returns whether it is a lambda as Keras stores those of activations: its code alone."""
    code = node.get("value")
    return set(node) == {"value"} and isinstance(code, list) and bool(code) and isinstance(code[0], str)


def _without_code(settings: dict[str, Any]) -> list[Any]:
    """Returns a Lambda layer's settings, but for the code that it was allowed to carry."""
    values = settings.values()
    return [v for v in values if not (isinstance(v, dict) and v.get("class_name") == "__lambda__")]


def _check_class(node: dict[str, Any], custom: Collection[str] | None) -> None:
    kind, module, settings = str(node["class_name"]), node.get("module"), node.get("config")
    name = settings.get("name", kind) if isinstance(settings, dict) else settings or kind
    registered = node.get("registered_name")
    if isinstance(settings, dict) and settings.get("stateful"):
        raise Refusal(f"The layer {_short(name)} is stateful; set stateful=False, batches are independent.")
    if custom is not None and ({kind, str(settings), str(registered)} & set(custom) or kind == "Lambda"):
        return
    if kind == "__lambda__":
        raise _LambdaFound(_LAMBDA)
    if kind in REFUSED_LAYERS:
        raise Refusal(f"The layer {_short(name)} is a {kind}: {REFUSED_LAYERS[kind]}.")
    if kind == "function":
        if not _is_function(module, settings):
            # Keras writes builtins as the module of every function.
            origin = "" if module == "builtins" else f" from {_short(module)}"
            raise OwnCode(f"The function {_short(settings)} is custom code{origin}", _short(settings))
    elif kind not in _PLAIN and not _is_class(kind, module, registered):
        origin = "" if module is None else f" from {_short(module)}"
        raise OwnCode(f"{_short(name)} is a custom {_short(kind)}{origin}", _short(kind))
    elif kind in _PLAIN and module is not None:
        raise Refusal(f"{_short(name)} is no plain value, it names {_short(module)}; save the model again.")


def _is_class(kind: str, module: Any, registered: Any) -> bool:
    if not isinstance(module, str):
        return False
    # A registered name would be looked up first.
    is_layer = (module, kind) in _APPLICATION_LAYERS and registered in (None, kind)
    return is_layer or _MODULES.fullmatch(module) is not None


def _is_function(module: Any, name: Any) -> bool:
    is_name = isinstance(name, str) and name.isidentifier() and name not in _NO_FUNCTIONS
    is_allowed_module = module == "builtins" or (isinstance(module, str) and _MODULES.fullmatch(module))
    return bool(
        is_name
        and is_allowed_module
        and any(callable(vars(module_object).get(name)) for module_object in _FUNCTIONS)
    )


def _short(value: Any) -> str:
    return str(value)[:60]
