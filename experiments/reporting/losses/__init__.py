"""Figures, sections and sentences of the loss studies' reports, of one board or of several."""
