"""The door: what it offers, and what it says without PyTorch."""

import sys

import pytest

import jaxkit.interop
import jaxkit.interop.torch as door


def test_the_door_offers_what_it_says():
    assert all(callable(getattr(door, name)) for name in door.__all__)
    assert all(callable(getattr(jaxkit.interop, name)) for name in jaxkit.interop.__all__)


def test_without_torch_the_extra_is_named(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("jaxkit.interop."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'jaxkit\[torch\]'"):
        import jaxkit.interop.torch  # noqa: F401
