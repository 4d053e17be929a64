"""dlt by its fastest way: a page is an Arrow table, files are parquet, which ADBC copies, and one MERGE ends it."""

import dlt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

import service

SCHEMA = pa.schema(
    [(field, pa.int64()) for field in service.INTEGERS]
    + [(field, pa.float64()) for field in service.NUMBERS]
    + [(field, pa.timestamp("us", tz="UTC")) for field in service.TIMES]
    + [("public", pa.bool_())]
    + [
        (field, pa.string())
        for field in ("object", "status", "name", "url", "domain", "industry", "country", "summary")
        + service.NESTED
    ]
)


def column(items: list, field: pa.Field) -> pa.Array:
    values = [item.get(field.name) for item in items]
    if field.name in service.NESTED:
        values = [None if value is None else orjson.dumps(value).decode() for value in values]
    if field.name in service.TIMES:
        return pc.strptime(pa.array(values, pa.string()), "%Y-%m-%dT%H:%M:%SZ", "us").cast(field.type)
    return pa.array(values, field.type)


@dlt.resource(
    primary_key="job_id",
    write_disposition={"disposition": "merge", "strategy": "upsert"},
    columns={field: {"data_type": "json"} for field in service.NESTED},
)
def jobs():
    for items in service.pages():
        yield pa.table([column(items, field) for field in SCHEMA], schema=SCHEMA)


pipeline = dlt.pipeline(
    "arrow",
    pipelines_dir=service.STATE,
    destination=dlt.destinations.postgres(service.DATABASE_URL),
    dataset_name="peer",
)
resource = jobs()
if service.ONLY_NEW:
    known = dlt.sources.incremental("job_id", row_order="desc", initial_value=service.newest())
    resource.apply_hints(incremental=known)
pipeline.run(resource, loader_file_format="parquet")
