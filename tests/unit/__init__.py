"""One part alone: no server, no browser, no process beside it, and virtual time."""
