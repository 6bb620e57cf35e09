"""Padded batches give the step of their real rows."""
