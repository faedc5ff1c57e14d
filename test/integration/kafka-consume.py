"""Reads the topics of a prefix to their end, and prints each committed message as a line of JSON.

Usage: kafka-consume.py BROKERS PREFIX
"""

import base64
import json
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

brokers, prefix = sys.argv[1:3]
consumer = Consumer(
    {
        "bootstrap.servers": brokers,
        "group.id": "nobody",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
)
topics = consumer.list_topics(timeout=10).topics
left = {
    (name, partition)
    for name, topic in topics.items()
    if name.startswith(prefix + ".") or name == prefix
    for partition in topic.partitions
}
consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for name, partition in left])
while left:
    message = consumer.poll(30)
    if message is None:
        sys.exit("no message and no end of a partition within 30 s")
    if message.error():
        if message.error().code() != KafkaError._PARTITION_EOF:
            sys.exit(str(message.error()))
        left.discard((message.topic(), message.partition()))
        continue
    print(
        json.dumps(
            {
                "topic": message.topic(),
                "partition": message.partition(),
                "key": None if message.key() is None else message.key().decode(),
                "headers": {name: value.decode() for name, value in message.headers() or []},
                "value": None if message.value() is None else base64.b64encode(message.value()).decode(),
            }
        )
    )
consumer.close()
