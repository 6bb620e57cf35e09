"""The commands `minga task ...`, for tasks of a running server and new tasks, and where tasks lie.

They use the server's HTTP interface; none opens a data folder.
"""
