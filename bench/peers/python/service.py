"""The list that every peer reads, and where it is told to write. See bench/peers/peer.ts for the variables."""

import os
from typing import Any, Iterator
from urllib.parse import urlsplit

import psycopg2
import requests

URL = os.environ["SERVICE_URL"] + "/v1/research"
HEADERS = {"Authorization": "Bearer " + os.environ["SERVICE_KEY"]}
DATABASE_URL = os.environ["DATABASE_URL"]
# What a peer keeps from one run to the next, where it does not keep it in the database.
STATE = os.environ["PEER_STATE"]
# "new": rows above those that are there; else all of them.
ONLY_NEW = os.environ["PEER_MODE"] == "new"
PAGE = 500
# Fields of objects and arrays, and those that are times.
NESTED = ("location", "error", "technologies", "contacts", "sources")
TIMES = ("created_at", "started_at", "completed_at", "updated_at")
INTEGERS = ("job_id", "employee_count", "document_id", "founded")
NUMBERS = ("score", "growth_rate", "revenue_usd")


def pages() -> Iterator[list[dict[str, Any]]]:
    """The pages of the list, newest rows first."""
    session = requests.Session()
    query: dict[str, Any] = {"limit": PAGE}
    while True:
        response = session.get(URL, headers=HEADERS, params=query)
        response.raise_for_status()
        page = response.json()
        yield page["data"]
        if not page["has_more"]:
            return
        query["starting_after"] = page["data"][-1]["job_id"]


def newest() -> int:
    """The newest job that is there: what a peer's own state would say."""
    with psycopg2.connect(DATABASE_URL) as connection, connection.cursor() as cursor:
        cursor.execute("select coalesce(max(job_id), 0) from peer.jobs")
        return cursor.fetchone()[0]


def database() -> dict[str, Any]:
    """The parts of DATABASE_URL."""
    parts = urlsplit(DATABASE_URL)
    return {
        "host": parts.hostname,
        "port": parts.port or 5432,
        "user": parts.username,
        "password": parts.password or "",
        "database": parts.path.lstrip("/"),
    }
