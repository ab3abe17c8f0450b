"""What the tests of the ports share: a module names its port's folder as `FOLDER`."""

import importlib

import pytest

from jaxkit.port import load


@pytest.fixture(scope="module")
def port(request):
    """The declaration, loaded as `jaxkit prove` loads it."""
    return load(request.module.FOLDER)[0][1]


@pytest.fixture(scope="module")
def module(port):
    """Gives the port's modules by name."""
    package = port.cases.__module__.rpartition(".")[0]
    return lambda name: importlib.import_module(f"{package}.{name}")
