"""dlt as its tutorial has it: the REST source, merge by primary key. Nested fields stay JSON, as a mirror wants them."""

import dlt
from dlt.sources.helpers.rest_client.paginators import BasePaginator
from dlt.sources.rest_api import rest_api_source

import service


class AfterLastJob(BasePaginator):
    """`starting_after` is the last job of the page before."""

    def __init__(self) -> None:
        super().__init__()
        self.last = None

    def update_state(self, response, data=None) -> None:
        self._has_next_page = response.json()["has_more"]
        self.last = data[-1]["job_id"] if data else None

    def update_request(self, request) -> None:
        request.params["starting_after"] = self.last


jobs = {
    "name": "jobs",
    "primary_key": "job_id",
    "write_disposition": "merge",
    "max_table_nesting": 0,
    "columns": {field: {"data_type": "json"} for field in service.NESTED},
    "endpoint": {
        "path": "v1/research",
        "params": {"limit": service.PAGE},
        "data_selector": "data",
        "paginator": AfterLastJob(),
    },
}
if service.ONLY_NEW:
    jobs["endpoint"]["incremental"] = {
        "cursor_path": "job_id",
        "row_order": "desc",
        "initial_value": service.newest(),
    }

source = rest_api_source(
    {
        "client": {"base_url": service.URL.removesuffix("v1/research"), "headers": service.HEADERS},
        "resources": [jobs],
    }
)
pipeline = dlt.pipeline(
    "plain",
    pipelines_dir=service.STATE,
    destination=dlt.destinations.postgres(service.DATABASE_URL),
    dataset_name="peer",
)
pipeline.run(source)
