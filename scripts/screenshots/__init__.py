"""Takes the pictures of docs/images from a real server, Chromium and peer.

Each module plays one part; `command` runs all of them.
"""
