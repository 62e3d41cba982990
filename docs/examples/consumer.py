#!/usr/bin/env python3
"""Handles each event once, however often it comes. Needs confluent_kafka and psycopg 3.

KAFKA_BROKERS  broker:9092
KAFKA_TOPIC    outbox.OrderPlaced
KAFKA_GROUP    the name under which positions are kept
DATABASE_URL   postgresql://user@host/database, with the tables of inbox.sql
"""

import os
import signal
import sys

import psycopg
from confluent_kafka import Consumer


def handle(cursor, record):
    """The effect of an event, by the same transaction that remembers its id."""
    value = record.value().decode() if record.value() is not None else None  # NULL in the outbox: a tombstone
    cursor.execute("INSERT INTO effects (topic, value) VALUES (%s, %s)", (record.topic(), value))


def handle_once(connection, record):
    event_id = dict(record.headers() or []).get("id")
    if event_id is None:  # of somebody else, who writes to the topic as well: what it means is for you to say
        print(f"no id: {record.topic()}, partition {record.partition()}, offset {record.offset()}", file=sys.stderr)
        return
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO inbox (id) VALUES (%s) ON CONFLICT DO NOTHING", (event_id.decode(),))
        if cursor.rowcount == 1:
            handle(cursor, record)


running = True


def stop(*_):
    global running
    running = False


def main():
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    consumer = Consumer({
        "bootstrap.servers": os.environ["KAFKA_BROKERS"],
        "group.id": os.environ["KAFKA_GROUP"],
        "auto.offset.reset": "earliest",
        # A position is kept only of what has been handled; it may be late, since a repeat does no harm.
        "enable.auto.offset.store": False,
    })
    consumer.subscribe([os.environ["KAFKA_TOPIC"]])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        try:
            while running:
                record = consumer.poll(1.0)
                if record is None:
                    continue
                if record.error():
                    print(record.error(), file=sys.stderr)
                    continue
                handle_once(connection, record)
                consumer.store_offsets(record)
        finally:
            # Leaves the group. Without it the partitions go to nobody for the session's timeout, 45 seconds.
            consumer.close()


if __name__ == "__main__":
    main()
