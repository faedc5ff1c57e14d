"""Reads exported files as analysts do, with DuckDB and with pandas, and prints what it has found as JSON.

    read.py FOLDER parquet|jsonl
"""

import json
import sys

import duckdb
import pandas

folder, extension = sys.argv[1:]
files = f"{folder}/**/*.{extension}"
source = {
    "parquet": f"read_parquet('{files}', hive_partitioning = true)",
    "jsonl": f"read_json('{files}', hive_partitioning = true, columns = {{position: 'BIGINT', phase: 'VARCHAR', "
    f"attempt: 'BIGINT', recorded_at: 'TIMESTAMPTZ', occurred_at: 'TIMESTAMPTZ', body: 'JSON', date: 'DATE'}})",
}[extension]

counted = duckdb.sql(f"""
    SELECT count(*) AS events, count(DISTINCT position) AS positions, min(position) AS first, max(position) AS last,
           count(*) FILTER (WHERE body->>'phase' = phase) AS phases, count(attempt) AS attempts,
           min(epoch_ms(recorded_at)) AS earliest, max(epoch_ms(recorded_at)) AS latest,
           count(*) FILTER (WHERE date <> (recorded_at AT TIME ZONE 'UTC')::DATE) AS misplaced
    FROM {source}
""")
found = {"duckdb": dict(zip(counted.columns, counted.fetchall()[0]))}
if extension == "parquet":
    frame = pandas.read_parquet(folder)
    found["pandas"] = {
        "events": len(frame),
        "positions": frame["position"].nunique(),
        "ordered": bool(frame["position"].is_monotonic_increasing),
        "phases": int((frame["body"].map(lambda body: json.loads(body).get("phase")) == frame["phase"]).sum()),
        "earliest": int(frame["recorded_at"].min().timestamp() * 1000),
        "latest": int(frame["recorded_at"].max().timestamp() * 1000),
        "dates": sorted(frame["date"].astype(str).unique()),
    }
print(json.dumps(found, default=int))
