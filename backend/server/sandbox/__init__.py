"""Work on strangers' files, in processes that are shut in and limited.

Conversion and dry runs; what is shut in and how is in `converter.sandbox.confined_process`.
"""
