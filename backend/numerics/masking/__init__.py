"""Encodes updates as whole numbers, to which masks can be added and which sum without rounding.

Holds encoding, rotation, sparsity and bit packing; `crypto` makes keys and masks.
"""
