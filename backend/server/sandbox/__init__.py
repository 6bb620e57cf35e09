"""Processes strangers' files in confined and limited processes.

Conversion and dry runs; `converter.sandbox.confined_process` has the restrictions.
"""
