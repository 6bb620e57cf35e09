"""The clients of a hosted task: their connections, who may join, and what they are sent of its state.

Nothing here knows a scheme; what clients upload is received in uploads.py of the folder above.
"""
