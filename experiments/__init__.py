"""The studies: a module with a command line each, and packages of their parts."""
