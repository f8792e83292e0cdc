"""Plain-Python references that the tests compare the compiled code with."""
