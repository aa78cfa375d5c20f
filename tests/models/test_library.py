"""Without transformers, or with another release, the error says what to install."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from spyrelab.models import MissingTransformersError, build
from spyrelab.models.library import transformers


@pytest.mark.parametrize("release", [None, "4.57.1"])
def test_a_missing_or_other_release_is_named(
    release: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("transformers")
    other.__version__ = release  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", other if release else None)  # type: ignore[arg-type]
    transformers.cache_clear()
    try:
        with pytest.raises(MissingTransformersError, match=r"pip install 'transformers==5\.23"):
            build("llama")
    finally:
        transformers.cache_clear()


def test_importing_the_package_does_not_import_transformers(tmp_path: object) -> None:
    import subprocess

    code = "import spyrelab.models, sys; print('transformers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
