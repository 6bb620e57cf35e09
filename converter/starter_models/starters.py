"""Lists the starter models by name; `backend/server/drafts/starters/starters.py` describes them to owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from converter.starter_models import (
    mobile_net,
    series_forecaster,
    small_cnn,
    small_gpt,
    table_mlp,
    text_gru,
)
from converter.starter_models.shape import StarterShape

STARTERS: dict[str, Callable[[StarterShape], Any]] = {
    "small-cnn": small_cnn.build,
    "mobile-net": mobile_net.build,
    "table-mlp": table_mlp.build,
    "text-gru": text_gru.build,
    "small-gpt": small_gpt.build,
    "series-forecaster": series_forecaster.build,
}
