"""Computes Keras' losses and metrics as sums over the real rows of a padded batch."""
