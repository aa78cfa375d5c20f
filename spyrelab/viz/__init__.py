"""Pictures: one style for every figure of the book and of the benches."""
