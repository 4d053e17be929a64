"""Runs dbt commands of one test, one after another in one process: loading dbt takes longer than most of them.

Each line of stdin is a JSON array of arguments. Each line of stdout is what came of it:
{"success": bool, "problem": text or null, "results": [{"name", "status", "message"}]}
"""

import json
import sys

answers = sys.stdout
# What dbt prints is not an answer.
sys.stdout = sys.stderr

from dbt.cli.main import dbtRunner  # noqa: E402

runner = dbtRunner()
for line in sys.stdin:
    outcome = runner.invoke(json.loads(line))
    results = getattr(outcome.result, "results", None) or []
    answer = {
        "success": outcome.success,
        "problem": None if outcome.exception is None else str(outcome.exception),
        "results": [
            {"name": result.node.name, "status": str(result.status), "message": result.message}
            for result in results
            if getattr(result, "node", None) is not None
        ],
    }
    print(json.dumps(answer), file=answers, flush=True)
