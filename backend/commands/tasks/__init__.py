"""The commands `minga task ...`, for tasks of a running server and new tasks.

They use the server's HTTP interface; none opens a data folder.
"""
