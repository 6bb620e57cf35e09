"""Training and evaluation with TensorFlow, on a bundle's native graphs.

The only part of the backend that imports TensorFlow; it knows no socket.
"""
