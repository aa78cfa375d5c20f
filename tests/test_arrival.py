"""Entering into modules of others when they arrive, also when that fails at first."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest

from spyrelab.arrival import watch

OURS = """
problem = True
count = 0

def install():
    global count
    count += 1
    if problem:
        raise RuntimeError("a private name is missing")
    import theirs_{0}
    theirs_{0}.told = True
"""


CHILD = """
import sys

assert not hasattr(sys, __name__)  # as with operators, which are registered once
setattr(sys, __name__, True)
"""


@pytest.fixture
def names(tmp_path, monkeypatch, request):
    """A package of somebody else with a module of its own, and an installer of ours."""
    number = abs(hash(request.node.name)) % 10**6
    theirs, ours = f"theirs_{number}", f"ours_{number}"
    (tmp_path / theirs).mkdir()
    (tmp_path / theirs / "__init__.py").write_text(f"import {theirs}.child\n")
    (tmp_path / theirs / "child.py").write_text(CHILD)
    (tmp_path / f"{ours}.py").write_text(OURS.format(number))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield theirs, ours
    for name in [name for name in sys.modules if name.startswith((theirs, ours))]:
        del sys.modules[name]
    delattr(sys, f"{theirs}.child")


def fails(name):
    with pytest.raises(RuntimeError, match="a private name is missing"):
        importlib.import_module(name)


def test_every_import_says_so_until_it_succeeds(names):
    theirs, ours = names
    watch({theirs: ours})
    installer = importlib.import_module(ours)
    fails(theirs)
    fails(theirs)
    fails(f"{theirs}.child")
    installer.problem = False
    child = importlib.import_module(f"{theirs}.child")
    module = importlib.import_module(theirs)
    assert module.told and module.child is child
    assert importlib.import_module(theirs) is module and installer.count == 4


def test_also_where_we_come_while_it_is_being_imported(names, tmp_path):
    theirs, ours = names
    # As Helion imports torch, which loads us.
    (tmp_path / theirs / "__init__.py").write_text(
        f"import spyrelab.arrival, {theirs}.child\n"
        f"if not hasattr({theirs}.child, 'watched'):\n"
        f"    {theirs}.child.watched = True\n"
        f"    spyrelab.arrival.watch({{{theirs!r}: {ours!r}}})\n"
    )
    installer = importlib.import_module(ours)
    fails(theirs)
    fails(theirs)
    installer.problem = False
    assert importlib.import_module(theirs).told and installer.count == 3


def test_what_is_there_is_entered_at_once(names):
    theirs, ours = names
    module = importlib.import_module(theirs)
    importlib.import_module(ours).problem = False
    watch({theirs: ours})
    assert module.told


def test_what_is_not_there_yet_may_come_later(names, tmp_path):
    theirs, ours = names
    (tmp_path / theirs).rename(tmp_path / "elsewhere")
    watch({theirs: ours})
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(theirs)
    (tmp_path / "elsewhere").rename(tmp_path / theirs)
    importlib.invalidate_caches()
    importlib.import_module(ours).problem = False
    assert importlib.import_module(theirs).told


def test_asking_whether_it_is_there_changes_nothing(names):
    theirs, ours = names
    watch({theirs: ours})
    importlib.import_module(ours).problem = False
    assert importlib.util.find_spec(theirs) is not None
    assert importlib.util.find_spec(theirs) is not None
    assert importlib.import_module(theirs).told
