"""Import TensorFlow before warnings become errors: its own modules warn about themselves."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from converter.sandbox.process_limits import quiet_tensorflow

    quiet_tensorflow()
    import tensorflow as tf

__all__ = ["tf"]
