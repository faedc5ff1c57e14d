"""Commits one transaction with the offsets of one group, so that the broker has the topics that later ones need."""

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

servers = {"bootstrap.servers": sys.argv[1]}
TOPIC = "warm-up"
try:
    admin = AdminClient(servers)
    if TOPIC not in admin.list_topics(timeout=5).topics:
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(5)
    consumer = Consumer({**servers, "group.id": TOPIC, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    consumer.poll(1)
    producer = Producer({**servers, "transactional.id": TOPIC})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(TOPIC, b"warm")
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 0)], consumer.consumer_group_metadata(), 5)
    producer.commit_transaction(10)
    consumer.close()
except KafkaException as error:
    sys.exit(str(error))
