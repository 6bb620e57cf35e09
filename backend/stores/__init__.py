"""Stores of records, blobs and parameters: their contracts and the implementations."""
