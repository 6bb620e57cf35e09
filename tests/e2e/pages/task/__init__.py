"""Gallery, task page, timeline of rounds and playground in a real browser."""
