"""From a study's files to figures, tables, verdicts and one self-contained HTML page."""
