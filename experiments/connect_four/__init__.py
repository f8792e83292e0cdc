"""Connect Four solved: positions with exact values on disk, and learning from them (002)."""
