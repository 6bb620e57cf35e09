"""Upgrades configurations of Keras 2 and TF.js to those of Keras 3."""
