"""How long tests wait for what must come before they give up."""

from __future__ import annotations

# Seconds. Far more than anything takes on a slow machine that does other things as well: who passes waits for
# the event, never for this.
PATIENCE = 300.0
# For what is long by itself: several clients that train many rounds.
LONG = 900.0
