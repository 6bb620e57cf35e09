"""Compares every bundle with Keras itself, as its users train with it, before the bundle is written."""
