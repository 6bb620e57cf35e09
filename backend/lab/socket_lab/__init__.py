"""The attack lab over a real server: hosts a task, and takes part in it as honest clients and attackers.

Files that train import TensorFlow. The server listens on this machine alone.
"""
