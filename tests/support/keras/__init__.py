"""Computes Keras' own results on a zoo of small models, and compares bundles with them."""
