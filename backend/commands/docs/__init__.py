"""How docs/ becomes the pages that a server shows at /docs.

Used by `minga build`; nothing here runs in a server.
"""
