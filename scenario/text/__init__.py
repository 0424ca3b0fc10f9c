"""The text of a scenario: YAML with the line of each field, changes by path, errors by path.

This room imports no other.
"""
