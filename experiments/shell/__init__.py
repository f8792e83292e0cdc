"""What every command shares: command line, settings, help, what is tracked at the end."""
