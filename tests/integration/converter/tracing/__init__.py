"""Layers, slices and refusals of traced models, held to Keras."""
