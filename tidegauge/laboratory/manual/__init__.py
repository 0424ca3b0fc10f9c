"""The generated pages of the manual: each is made from the part of the program that it documents.

``python -m tidegauge.laboratory.manual`` (or ``make docs``) writes them to ``docs/``, and
``tests/docs/test_generated_pages.py`` fails when one of them is stale. Prose of pages and sections
is in ``prose.md``, examples of a scenario's fields are in ``scenario_examples.yaml``. **To add a
page**: a function that returns it, its prose, and a line in
:data:`~tidegauge.laboratory.manual.pages.PAGES`.
"""
