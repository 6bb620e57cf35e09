"""A task whose scheme is `volunteer`: work units, done by whoever is there."""
