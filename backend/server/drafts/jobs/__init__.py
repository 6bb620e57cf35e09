"""Runs long jobs on drafts: the queue, and the work of each kind of job.

Jobs process uploaded files in `server.sandbox` only.
"""
