"""Ops on the values of pictures."""
__all__ = []
