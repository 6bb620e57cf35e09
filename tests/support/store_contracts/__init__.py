"""Contracts of stores: classes of tests whose subclasses provide an implementation."""
