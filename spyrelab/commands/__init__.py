"""The verbs of the command line, a module each: ``register(subparsers)`` and ``run(args)``.

A verb's module is imported whenever ``spyrelab`` starts, so it imports what is slow inside ``run``.
"""
