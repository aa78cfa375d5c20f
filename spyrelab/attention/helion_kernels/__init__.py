"""Paged attention in Helion; importing a module of this package imports Helion."""
