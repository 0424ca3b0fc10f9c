"""``tidegauge analyze`` for spark-submit, which starts only files that end in .py.

spark-submit --master spark://HOST:7077 --properties-file deploy/spark/analysis.conf \
    deploy/spark/analyze.py '/shared/runs/*' --out /shared/analysis
"""

import sys

from tidegauge.command_line import app

app(["analyze", *sys.argv[1:]])
