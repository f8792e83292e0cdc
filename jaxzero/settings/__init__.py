"""What can be set: every key with its default, meaning and range; the switches of `semantics`.

`jaxzero.settings.config` makes a config of them.
"""
