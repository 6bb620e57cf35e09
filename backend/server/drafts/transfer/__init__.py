"""Files of drafts on their way in and out: uploads, zips, copies, data at an address.

What a file holds is inspected in a process of its own, see `datasets.inspection`.
"""
