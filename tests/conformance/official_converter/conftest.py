"""Imports TensorFlow once, before warnings become errors."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from converter.sandbox.process_limits import quiet_tensorflow

    quiet_tensorflow()
    import keras
    import tensorflow as tf

__all__ = ["keras", "tf"]
