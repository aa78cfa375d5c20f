"""Cases to measure, one file per chapter of the book, each with a ``CHAPTER``."""
