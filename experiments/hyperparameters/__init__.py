"""Parts of the hyper-parameter studies: settings, their training, what explains strength."""
