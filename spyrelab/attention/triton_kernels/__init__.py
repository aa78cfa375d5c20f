"""Paged attention in Triton; importing a module of this package imports Triton."""
