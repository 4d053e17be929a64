"""PyAirbyte: a low-code source (jobs.yaml) into its cache in Postgres, merged by primary key."""

from pathlib import Path

import airbyte as ab
from airbyte.caches import PostgresCache
from airbyte.strategies import WriteStrategy

import service

at = service.database()
cache = PostgresCache(
    host=at["host"],
    port=at["port"],
    username=at["user"],
    password=at["password"],
    database=at["database"],
    schema_name="peer",
    cache_dir=Path(service.STATE),
)
source = ab.get_source(
    "source-jobs",
    config={"url": service.URL, "key": service.HEADERS["Authorization"].removeprefix("Bearer ")},
    source_manifest=Path(__file__).with_name("jobs.yaml"),
    streams=["jobs"],
)
source.read(cache=cache, write_strategy=WriteStrategy.MERGE)
