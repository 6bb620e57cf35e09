"""The leakage lab: reconstructs training pictures from what a server sees of a volunteer's update.

Attacks, the views of a server under each protection, and the report. Files that run graphs import TensorFlow.
"""
