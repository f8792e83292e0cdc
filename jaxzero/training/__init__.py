"""What is learned from, and how fast.

Windows counted in games or in positions, curricula, examples held out of training, schedules of
learning rate and momentum.
"""
