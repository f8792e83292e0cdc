"""Who plays whom to measure strength.

Networks of runs, fixed opponents, pools, strength over training, tournaments as files.
"""
