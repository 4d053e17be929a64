"""A Singer tap for the list, by Meltano's SDK."""

from typing import Any, Iterable

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.pagination import BaseAPIPaginator

import service

TYPES = {
    **{field: th.IntegerType for field in service.INTEGERS},
    **{field: th.NumberType for field in service.NUMBERS},
    **{field: th.DateTimeType for field in service.TIMES},
    "location": th.ObjectType(additional_properties=True),
    "error": th.ObjectType(additional_properties=True),
    "technologies": th.ArrayType(th.StringType),
    "contacts": th.ArrayType(th.ObjectType(additional_properties=True)),
    "sources": th.ArrayType(th.ObjectType(additional_properties=True)),
    "public": th.BooleanType,
    **{
        field: th.StringType
        for field in ("object", "status", "name", "url", "domain", "industry", "country", "summary")
    },
}


class AfterLastJob(BaseAPIPaginator):
    """`starting_after` is the last job of the page before; where only new rows are wanted, known ones end it."""

    def __init__(self, known: int) -> None:
        super().__init__(None)
        self.known = known

    def get_next(self, response) -> int | None:
        return response.json()["data"][-1]["job_id"]

    def has_more(self, response) -> bool:
        page = response.json()
        return page["has_more"] and page["data"][-1]["job_id"] > self.known


class Jobs(RESTStream):
    name = "jobs"
    path = ""
    url_base = service.URL
    primary_keys = ("job_id",)
    replication_key = "job_id" if service.ONLY_NEW else None
    records_jsonpath = "$.data[*]"
    schema = th.PropertiesList(*(th.Property(name, kind) for name, kind in TYPES.items())).to_dict()

    @property
    def http_headers(self) -> dict:
        return service.HEADERS

    def get_new_paginator(self) -> AfterLastJob:
        return AfterLastJob(self.config["known"] if service.ONLY_NEW else -1)

    def get_url_params(self, context: Any, next_page_token: int | None) -> dict[str, Any]:
        after = {} if next_page_token is None else {"starting_after": next_page_token}
        return {"limit": service.PAGE, **after}


class JobsTap(Tap):
    name = "tap-jobs"
    config_jsonschema = th.PropertiesList(th.Property("known", th.IntegerType, default=0)).to_dict()

    def discover_streams(self) -> Iterable[Jobs]:
        return [Jobs(self)]


if __name__ == "__main__":
    JobsTap.cli()
