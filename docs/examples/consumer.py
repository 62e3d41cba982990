#!/usr/bin/env python3
"""Handles each event once, however often it comes. Needs confluent_kafka and psycopg 3.

KAFKA_BROKERS  broker:9092
KAFKA_TOPIC    outbox.OrderPlaced
KAFKA_GROUP    the name under which positions are kept
DATABASE_URL   postgresql://user@host/database, with the tables of inbox.sql
"""

import os

import psycopg
from confluent_kafka import Consumer


def handle(cursor, record):
    """The effect of an event, by the same transaction that remembers its id."""
    value = record.value().decode() if record.value() is not None else None  # NULL in the outbox: a tombstone
    cursor.execute("INSERT INTO effects (topic, value) VALUES (%s, %s)", (record.topic(), value))


def handle_once(connection, record):
    event_id = dict(record.headers() or [])["id"].decode()
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO inbox (id) VALUES (%s) ON CONFLICT DO NOTHING", (event_id,))
        if cursor.rowcount == 1:
            handle(cursor, record)


def main():
    consumer = Consumer({
        "bootstrap.servers": os.environ["KAFKA_BROKERS"],
        "group.id": os.environ["KAFKA_GROUP"],
        "auto.offset.reset": "earliest",
        # A position is kept only of what has been handled; it may be late, since a repeat does no harm.
        "enable.auto.offset.store": False,
    })
    consumer.subscribe([os.environ["KAFKA_TOPIC"]])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        while True:
            record = consumer.poll(1.0)
            if record is None:
                continue
            if record.error():
                print(record.error())
                continue
            handle_once(connection, record)
            consumer.store_offsets(record)


if __name__ == "__main__":
    main()
