"""``tidegauge schema``: what can be said in a scenario file, for editors."""

from __future__ import annotations

import typer


def show_schema() -> None:
    """Print the JSON schema of scenario files.

    With it editors complete names, show what they mean and underline what is wrong. The scenarios
    that come along name it in their first line.

    \b
    Examples:
      tidegauge schema > scenario.schema.json
      # and then, as the first line of a scenario:
      # yaml-language-server: $schema=scenario.schema.json
    """
    from tidegauge.scenario.schema import schema_text

    typer.echo(schema_text(), nl=False)
