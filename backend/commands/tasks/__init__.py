"""The commands `minga task ...`: tasks of a running server, and new ones.

They ask the server over its HTTP interface; none opens a data folder.
"""
