"""Fixtures of the opspec tests."""

from collections.abc import Iterator

import pytest

from tests.opspec.host import Host


@pytest.fixture
def host() -> Iterator[Host]:
    """Device memory with room for small tensors."""
    made = Host()
    yield made
    made.close()
