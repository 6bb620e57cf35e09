"""One task, one host: performs what the machines decide."""
