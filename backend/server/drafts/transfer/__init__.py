"""Transfers the files of drafts: uploads, zips, copies, data at a URL.

The content of files is inspected in a separate process, see `datasets.inspection`.
"""
