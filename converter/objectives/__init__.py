"""Losses and metrics of Keras as sums over the real rows of a padded batch."""
