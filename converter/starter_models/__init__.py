"""Starter models: small Keras networks made for an owner's own inputs and labels, one file each.

`starters.py` lists them. They are built in the converter's sandbox, as files that are then converted like any
uploaded model. A builder returns a functional Keras model of plain layers and compiles nothing.
"""
