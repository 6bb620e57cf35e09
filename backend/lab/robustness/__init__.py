"""The robustness lab: trains a task in process while some participants attack, with a rule against them.

Files that train import TensorFlow. It runs the peer's trainer and the server's arithmetic, not its host.
"""
