"""Tests of the labs that attack a task."""
