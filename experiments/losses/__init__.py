"""The study of the four losses and its arms: results of its own, figures, report."""
