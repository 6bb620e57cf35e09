"""Source, the common result of every reader: a Keras 3 configuration and a way to load weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A model that has been read but not built.

    `config` is Keras 3's configuration of the model, `fill` assigns the file's weights to the built model
    (raises Refusal), `compiled` is Keras 3's compile configuration, or None where the model was not compiled.
    `own` is true where Keras 3 itself wrote the file, so that it can go into the bundle unchanged;
    `old_sigmoid` where hard_sigmoid has its meaning from before Keras 3.
    """

    config: dict[str, Any]
    fill: Callable[[Any], None]
    compiled: dict[str, Any] | None = None
    own: bool = False
    old_sigmoid: bool = False
