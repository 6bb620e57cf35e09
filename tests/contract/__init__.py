"""What Python and TypeScript must agree on: golden vectors, and Python's code held to them.

`vectors` is read by every suite and by the tests of TypeScript; each file there has the script that makes it.
"""
