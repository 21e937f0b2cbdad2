"""Runs statements in an embedded ClickHouse, whose data is in the folder of the first argument.

Reads a JSON list of statements from stdin, and writes the last one's rows, each as JSON in a line.
"""

import json
import sys

from chdb import session

clickhouse = session.Session(sys.argv[1])
clickhouse.query("set output_format_json_quote_64bit_integers = 0")
answer = None
for statement in json.load(sys.stdin):
    answer = clickhouse.query(statement, "JSONEachRow")
sys.stdout.write(str(answer) if answer is not None else "")
