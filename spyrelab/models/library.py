"""The package transformers, loaded when the first model is asked for."""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import Any

from spyrelab.models.errors import MissingTransformersError

__all__ = ["WANTED", "transformers"]

WANTED = "5.23"
"""The release whose models these are; another one names modules and arguments differently."""


@cache
def transformers() -> Any:
    """The package.

    Raises
    ------
    MissingTransformersError
        It is not installed, or is no release of `WANTED`.
    """
    install = f"pip install 'transformers=={WANTED}.*' (it is part of spyrelab[test])"
    try:
        found = import_module("transformers")
    except ImportError as error:
        raise MissingTransformersError(f"models need transformers: {install}") from error
    if not found.__version__.startswith(f"{WANTED}."):
        raise MissingTransformersError(
            f"transformers {found.__version__} is installed, models need {WANTED}: {install}"
        )
    # Mamba says on every load that the CUDA kernels which it could use are not there.
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return found
