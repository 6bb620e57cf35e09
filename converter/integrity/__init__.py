"""Measures signs of a backdoor in a model: answers per class, and the smallest trigger of each class.

Runs in the sandbox, as the model may come from anybody. What the figures mean is decided elsewhere.
"""
