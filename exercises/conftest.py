"""Makes ``pytest exercises/`` know tasks, answers and ``--impl``."""

pytest_plugins = ["spyrelab.grade.plugin"]
