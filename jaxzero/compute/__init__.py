"""The devices at hand, and what a population asks of them: memory, operations, time."""
