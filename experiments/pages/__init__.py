"""What every report is made of: finished studies, tables, figures, words, the HTML page."""
