"""Sound: features that recognisers read, resampling, and augmentation, for one clip at a time.

Presets and filters are plain functions of one `Clip`; random ops have the one shape of `jaxkit.Op`.
"""

__all__ = []
