"""What sessions of all schemes share: the connection to the server, retries, progress, identity.

A scheme's own session lives in rounds/, units/ or mesh/.
"""
