"""Updates as whole numbers, which masks can be added to and which sum without rounding.

Encoding, rotation, sparsity and bit packing; keys and masks are made in `crypto`.
"""
