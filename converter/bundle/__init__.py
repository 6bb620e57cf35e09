"""Writes a bundle: manifest, graphs of TF.js and TensorFlow, and the Keras model."""
