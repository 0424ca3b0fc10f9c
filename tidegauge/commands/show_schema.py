"""``tidegauge schema``: the JSON schema of scenario files, for editors."""

from __future__ import annotations

import typer

from tidegauge.scenario.schema import schema_text


def show_schema() -> None:
    """Print the JSON schema of scenario files.

    With the schema editors complete names, show their meanings and underline errors. The shipped
    scenarios refer to it in their first line.

    \b
    Examples:
      tidegauge schema > scenario.schema.json
      # and then, as the first line of a scenario:
      # yaml-language-server: $schema=scenario.schema.json
    """
    typer.echo(schema_text(), nl=False)
