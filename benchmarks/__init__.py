"""Speed and memory, each figure next to the floor that it is measured against."""
