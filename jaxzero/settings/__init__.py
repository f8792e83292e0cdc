"""What can be set: every key with its default, meaning and range; the switches of `semantics`.

`jaxzero.config` makes a config of them.
"""
