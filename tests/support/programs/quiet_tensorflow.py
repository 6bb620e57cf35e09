"""Sets TensorFlow's environment before its import, as each conversion does."""

from __future__ import annotations

from converter.sandbox.process_limits import quiet_tensorflow

quiet_tensorflow()
