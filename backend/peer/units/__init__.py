"""A headless peer of work units: several at once, the next fetched and the last sent meanwhile."""
