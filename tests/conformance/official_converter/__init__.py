"""TF.js' own converter as a witness: what it makes of Keras' models, beside what Minga makes of them.

It runs in a virtual environment of its own; no other test may need it.
"""
