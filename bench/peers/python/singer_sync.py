"""Singer: the tap's output is the target's input, as Meltano would join them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import service

state = Path(service.STATE)
tap_config = state / "tap.json"
tap_config.write_text(json.dumps({"known": service.newest() if service.ONLY_NEW else 0}))
target_config = state / "target.json"
target_config.write_text(
    json.dumps(
        {
            **service.database(),
            "default_target_schema": "peer",
            "load_method": "upsert",
            "use_copy": True,
            "add_record_metadata": False,
            "activate_version": False,
            "validate_records": False,
            "batch_size_rows": 10_000,
        }
    )
)
here = Path(__file__).parent
binaries = Path(sys.executable).parent
environment = {**os.environ, "PYTHONPATH": str(here)}
tap = subprocess.Popen(
    [sys.executable, str(here / "jobs_tap.py"), "--config", str(tap_config)],
    stdout=subprocess.PIPE,
    env=environment,
)
target = subprocess.run(
    [str(binaries / "target-postgres"), "--config", str(target_config)],
    stdin=tap.stdout,
    stdout=subprocess.DEVNULL,
    env=environment,
)
sys.exit(tap.wait() or target.returncode)
