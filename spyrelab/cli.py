"""The command line: one verb, one module of :mod:`spyrelab.commands`.

Exit codes: 0 success, 1 a check that did not pass or a fault of SpyreLab, 2 input that cannot be
served (one line on standard error says why), 130 interrupted, 141 the reader of the output left.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from spyrelab import __version__
from spyrelab.errors import SpyreLabError, UsageError

__all__ = ["VERBS", "main"]

VERBS = (
    "info",
    "doctor",
    "ktir",
    "estimate",
    "trace",
    "validate",
    "bench",
    "grade",
    "exercises",
    "book",
)
"""In the order of ``--help``; each is a module of ``spyrelab.commands``."""

BAD_INPUT, INTERRUPTED, NOBODY_READS = 2, 130, 141


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what :func:`main` prints."""
        raise UsageError(f"{message}; see '{self.prog} --help'")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code; no exception and no traceback leaves this function.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default ``sys.argv[1:]``.
    """
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse after --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes standard output once more at exit: give it somewhere to go.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except SpyreLabError as error:
        return _complain(_describe(error), BAD_INPUT)
    except OSError as error:
        return _complain(_describe_os(error), BAD_INPUT)
    except UnicodeDecodeError as error:
        return _complain(f"not a UTF-8 text file: {error.reason} at byte {error.start}", BAD_INPUT)
    except Exception as error:
        if os.environ.get("SPYRELAB_DEBUG"):
            raise
        if absent := _absent_package(error):
            return _complain(f"{absent} is not installed: 'spyrelab doctor' says more", BAD_INPUT)
        fault = f"{type(error).__name__}: {_first_line(error)}"
        return _complain(f"a fault of SpyreLab itself: {fault} (SPYRELAB_DEBUG=1 shows where)", 1)


def _run(argv: list[str]) -> int:
    parser = Parser(
        prog="spyrelab",
        description="A PyTorch backend for the Spyre card, built chapter by chapter on an"
        " emulator: check, run, time and grade kernels without a card.",
        epilog="'spyrelab VERB --help' explains a verb. Exit code 2 means input that cannot be"
        " served. NO_COLOR=1 turns colour off.",
    )
    parser.add_argument("--version", action="version", version=f"spyrelab {__version__}")
    subparsers = parser.add_subparsers(title="verbs", metavar="VERB", parser_class=Parser)
    for verb in VERBS:
        import_module(f"spyrelab.commands.{verb}").register(subparsers)
    if argv and not argv[0].startswith("-") and argv[0] not in subparsers.choices:
        raise UsageError(_explain_verb(argv[0]))
    args, late = parser.parse_known_args(argv)
    if late:
        _add_late_words(subparsers.choices.get(argv[0], parser), args, late)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    return int(args.run(args))


def _add_late_words(verb: Parser, args: argparse.Namespace, late: Sequence[str]) -> None:
    """Take words behind an option, as in ``book sync --check ch03``; argparse gives up on them."""
    lists = [a.dest for a in verb._actions if a.nargs == "*" and not a.option_strings]
    if not lists or any(word.startswith("-") for word in late):
        verb.error(f"unrecognized arguments: {' '.join(late)}")
    setattr(args, lists[0], [*(getattr(args, lists[0]) or ()), *late])


def _explain_verb(verb: str) -> str:
    close = difflib.get_close_matches(verb, VERBS, n=1)
    hint = (
        f"did you mean {close[0]!r}?"
        if close and close[0] != verb
        else f"the verbs are {', '.join(VERBS)}"
    )
    return f"unknown verb {verb!r}; {hint}"


def _complain(message: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"spyrelab: {message}\n")
    return code


def _describe(error: SpyreLabError) -> str:
    """Return all of a message on a terminal (source line, caret), else its first line and hint."""
    if sys.stderr.isatty():
        return str(error)
    hint = getattr(error, "hint", None)
    line = _first_line(error)
    return f"{line} (hint: {hint})" if hint and str(hint) not in line else line


def _describe_os(error: OSError) -> str:
    reason = error.strerror or _first_line(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def _absent_package(error: Exception) -> str:
    """The package that an import did not find, unless it is a part of SpyreLab."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    package = (error.name or "").partition(".")[0]
    return "" if package == "spyrelab" else package


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
