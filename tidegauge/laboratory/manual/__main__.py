"""Writes the generated pages of the manual."""

import sys

from tidegauge.laboratory.manual.pages import FOLDER, write_pages

if not FOLDER.is_dir():
    sys.exit(f"{FOLDER}: no such folder; the manual is written in a checkout")
for written in write_pages(FOLDER):
    sys.stdout.write(f"{written}\n")
