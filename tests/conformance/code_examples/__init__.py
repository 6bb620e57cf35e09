"""Architectures of Keras' code examples in our own words and at a small size, one function each.

What lives here: models by area, compiled as their example compiles them. What they share as own code lies in
`own_layers.py`, which is also the file for `--custom`. No data and no training.
"""
