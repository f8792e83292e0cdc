"""Independent implementations in plain Python and NumPy, written to be read and not to be fast."""
