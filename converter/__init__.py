"""Converts a Keras model into a training bundle; runs as its own process with resource limits."""
