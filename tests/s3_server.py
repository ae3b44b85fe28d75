"""An S3 server on this machine (moto), and the environment by which anonkit and Spark's executors find it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

BUCKET = "people"
SECRET = "a-wrong-secret"


@contextmanager
def s3_server() -> Iterator[Any]:
    """Yield a client of a server with one bucket; who is started meanwhile finds it too."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    said = {
        "AWS_ACCESS_KEY_ID": "owner",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
        "no_proxy": "*",
    }
    try:
        with patch.dict(os.environ, said):
            client = boto3.client("s3")
            client.create_bucket(Bucket=BUCKET)
            clear(client)  # servers of one process share what they hold
            yield client
    finally:
        server.stop()


def keys(client: Any) -> list[str]:
    """Return the keys of all objects."""
    return [item["Key"] for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


def clear(client: Any) -> None:
    """Delete all objects."""
    for key in keys(client):
        client.delete_object(Bucket=BUCKET, Key=key)
