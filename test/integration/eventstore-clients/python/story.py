"""Reads and writes a log with the official Python client; prints the outcome of each step as a line of JSON."""

import json
import sys
import uuid

from esdbclient import EventStoreDBClient, NewEvent, StreamState
from esdbclient.exceptions import WrongCurrentVersion

client = EventStoreDBClient(uri=f"esdb://{sys.argv[1]}?Tls=false")
stream = f"python-{uuid.uuid4()}"


def say(step: str, **what: object) -> None:
    print(json.dumps({"step": step, **what}), flush=True)


def event(kind: str) -> NewEvent:
    return NewEvent(type=kind, data=b'{"from":"python"}', metadata=b'{"kept":true}')


first = event("Begun")
client.append_to_stream(stream, current_version=StreamState.NO_STREAM, events=[first, event("Continued")])
client.append_to_stream(stream, current_version=StreamState.NO_STREAM, events=[first])
say("append", revisions=[each.stream_position for each in client.get_stream(stream)])

recorded = list(client.read_stream(stream))
say(
    "read",
    types=[each.type for each in recorded],
    data=recorded[0].data.decode(),
    metadata=recorded[0].metadata.decode(),
    backwards=[each.type for each in client.read_stream(stream, backwards=True)],
    all=[each.type for each in client.read_all(filter_include=[f"{stream}"], filter_by_stream_name=True)],
)

try:
    client.append_to_stream(stream, current_version=StreamState.NO_STREAM, events=[event("Late")])
    say("conflict", seen=False)
except WrongCurrentVersion:
    say("conflict", seen=True)

subscription = client.subscribe_to_all(
    filter_include=["python-.*"], filter_by_stream_name=True, include_caught_up=True, include_checkpoints=True
)
tailed = []
for each in subscription:
    name = type(each).__name__
    if name == "CaughtUp":
        client.append_to_stream(stream, current_version=1, events=[event("Live")])
    elif name == "RecordedEvent" and each.stream_name == stream:
        tailed.append(each.type)
        if each.type == "Live":
            break
subscription.stop()
say("tail", types=tailed)
client.close()
