"""Connect Four solved: positions with exact values, and learning from them (Clausen 2021)."""
