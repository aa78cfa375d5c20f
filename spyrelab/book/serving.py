"""Show a built site to browsers on this machine, and to nobody else."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from spyrelab.book.chapters import BookError

__all__ = ["open_server"]

LOCALHOST = "127.0.0.1"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Requests are of no interest to who reads."""


def open_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the folder's files on localhost; ``serve_forever`` starts it.

    Parameters
    ----------
    port : int
        0 takes any that is free.

    Raises
    ------
    BookError
        There is no site in the folder, or the port is taken.
    """
    if not (folder / "index.html").is_file():
        raise BookError(f"{folder} has no site; 'spyrelab book build' makes one")
    if not 0 <= port < 65536:
        raise BookError(f"{port} is no port: they go from 0, any that is free, to 65535")
    try:
        return ThreadingHTTPServer((LOCALHOST, port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise BookError(f"port {port}: {error.strerror}; name another with --port") from None
