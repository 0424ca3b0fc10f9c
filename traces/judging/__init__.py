"""The rows of a run are judged: history first, then the checks that a row can break."""
