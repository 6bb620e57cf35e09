"""Parts that the sessions of all schemes share: connections, retries, progress reports, identity.

A scheme's own session is in rounds/, units/ or mesh/.
"""
