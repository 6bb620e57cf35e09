"""Training and evaluation with TensorFlow, on a bundle's native graphs.

Only this package of the backend imports TensorFlow; it uses no socket.
"""
