"""The machines of a mesh: the coordinator at the server, and a peer's part.

Averaging in a group lives in allreduce/, rounds without the server in serverless/.
"""
