"""Shared support of several test suites: real servers, peers and browsers, and failure evidence.

Nothing in this package is a test. Suites import from this package and never from each other.
"""
