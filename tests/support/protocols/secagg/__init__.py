"""Runs servers and members of masked rounds with real keys, shares and masks, without I/O."""
