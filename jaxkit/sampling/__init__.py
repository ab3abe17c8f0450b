"""Uniform points from unions of ellipsoids: clouds, sampling, volume, surface, occupancy."""
