"""What every format comes down to: Keras 3's configurations and a way to fill in the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A model that has been read but not built.

    `config` is Keras 3's configuration of the model, `fill` gives the built model the file's weights (raises
    Refusal), `compiled` is Keras 3's compile configuration, or None where the model was not compiled.
    `own` is true where Keras 3 itself wrote the file, so that it can go into the bundle as it is;
    `old_sigmoid` where hard_sigmoid means what it did before Keras 3.
    """

    config: dict[str, Any]
    fill: Callable[[Any], None]
    compiled: dict[str, Any] | None = None
    own: bool = False
    old_sigmoid: bool = False
