"""Parts of the hyper-parameter studies.

Settings, groups that share a program, their training and tournaments; and what explains strength:
importance, a model of Elo, fronts of strength and cost.
"""
