"""Traces a Keras model into frozen graphs over a flat vector of parameters."""
