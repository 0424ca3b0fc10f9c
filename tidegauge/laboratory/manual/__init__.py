"""The generated pages of the manual: each is made from the part of the program that it documents.

``python -m tidegauge.laboratory.manual`` (or ``make docs``) writes them to ``docs/``, and
``tests/docs/test_generated_pages.py`` fails when one of them is stale. A module makes one page;
:data:`~tidegauge.laboratory.manual.pages.PAGES` lists them. **To add a page**: a module with a
function ``documentation()``, and a line in that table.
"""
