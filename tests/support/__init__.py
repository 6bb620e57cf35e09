"""What several suites share: real servers, peers and browsers to test with, and what explains a failure.

Nothing here is a test. Suites import from here and never from each other.
"""
