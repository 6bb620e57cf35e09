"""Inspects an owner's data: their kind, classes, columns and examples, and a proposed preprocessing."""
