"""Keras model in, training bundle out; runs as its own, limited process."""
