"""Set what TensorFlow reads when it is imported, as each conversion does."""

from __future__ import annotations

from converter.sandbox.process_limits import quiet_tensorflow

quiet_tensorflow()
