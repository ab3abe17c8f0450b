"""Ports are found and loaded from any folder."""

import pytest

from jaxkit.port import LoadError, find, load

PORT = """
import numpy as np
from jaxkit.port import Case, Exact, Port
from . import slow
PORT = Port("{name}", "claim", slow.side, slow.side, lambda request: [Case("one", (np.ones(2),))], (Exact(),))
"""


def write(folder, name, answer=1):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port.py").write_text(PORT.format(name=name))
    (folder / "slow.py").write_text(f"def side(x):\n    return {answer}\n")
    return folder


def test_a_file_a_folder_and_a_folder_of_folders(tmp_path):
    write(tmp_path / "a", "first"), write(tmp_path / "b", "second")
    for path in (tmp_path / "a", tmp_path / "a" / "port.py"):
        [(file, port)] = load(path)
        assert file == (tmp_path / "a" / "port.py").resolve() and port.name == "first"
    assert [port.name for _, port in load(tmp_path)] == ["first", "second"]


def test_folders_of_one_name_do_not_meet(tmp_path):
    one, two = write(tmp_path / "x" / "lines", "one", 1), write(tmp_path / "y" / "lines", "two", 2)
    [(_, first)], [(_, second)] = load(one), load(two)
    assert (first.reference(0), second.reference(0)) == (1, 2)


def test_loading_again_reads_the_files_again(tmp_path):
    load(write(tmp_path / "a", "first", 1))
    [(_, port)] = load(write(tmp_path / "a", "renamed", 12345))
    assert port.name == "renamed" and port.reference(0) == 12345


def test_a_package_with_its_own_init_works(tmp_path):
    folder = write(tmp_path / "a", "first")
    (folder / "__init__.py").write_text("ANSWER = 7\n")
    (folder / "slow.py").write_text("from . import ANSWER\n\n\ndef side(x):\n    return ANSWER\n")
    [(_, port)] = load(folder)
    assert port.reference(0) == 7


def test_what_cannot_be_loaded_is_named(tmp_path):
    with pytest.raises(LoadError, match="does not exist"):
        find(tmp_path / "nowhere")
    with pytest.raises(LoadError, match="holds no port.py"):
        find(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "port.py").write_text("x = 1\n")
    with pytest.raises(LoadError, match="has no `PORT`"):
        load(empty)
    (empty / "port.py").write_text("\nraise KeyError('lost')\n")
    with pytest.raises(LoadError, match=r"\(port.py:2\): KeyError: 'lost'"):
        load(empty)
