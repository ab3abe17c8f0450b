"""Ops for pictures of text."""
__all__ = []
