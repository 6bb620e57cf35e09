"""Losses and metrics of padded batches, held to Keras."""
