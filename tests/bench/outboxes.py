"""The outboxes that are drained: their tables, and the rows that go into them."""

import dataclasses

PUBLISHED = """
CREATE TABLE public.outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text NOT NULL, aggregateid text NOT NULL,
                            type text NOT NULL, payload jsonb NOT NULL);
CREATE PUBLICATION bench FOR TABLE public.outbox WITH (publish = 'insert');
"""

# The polling worker's: the same columns, an order to read in, and what it marks.
POLLED = """
CREATE TABLE public.outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text NOT NULL, aggregateid text NOT NULL,
                            type text NOT NULL, payload jsonb NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
                            processed_at timestamptz);
CREATE INDEX ON public.outbox (number) WHERE processed_at IS NULL;
"""

INTO_TABLE = """
    INSERT INTO public.outbox (aggregatetype, aggregateid, type, payload)
      SELECT {topic}, 'customer-' || n % 10000, 'OrderPlaced', jsonb_build_object('order', n, 'sum', n % 997, 'pad', pad || n)
      FROM generate_series(head, least(head + {size} - 1, {rows})) n;
"""

AS_MESSAGES = """
    PERFORM pg_logical_emit_message(true, 'outbox', jsonb_build_object('topic', 'outbox.event.' || {topic}, 'id', gen_random_uuid(),
        'key', 'customer-' || n % 10000, 'type', 'OrderPlaced', 'payload',
        jsonb_build_object('order', n, 'sum', n % 997, 'pad', pad || n))::text)
      FROM generate_series(head, least(head + {size} - 1, {rows})) n;
"""

LOAD = """
SET synchronous_commit = off;
DO $$
DECLARE
  pad text := substr(string_agg(md5(i::text), ''), 1, {pad}) FROM generate_series(1, {pad} / 32 + 1) i;
BEGIN
  FOR head IN 1..{rows} BY {size} LOOP
    {statement}
    COMMIT;
  END LOOP;
END $$;
"""

AROUND_PAD = 65  # bytes of a payload beside its padding, about


@dataclasses.dataclass(frozen=True)
class Outbox:
    rows: int
    per_transaction: int
    payload_bytes: int = 550
    topics: int = 1
    messages: bool = False

    def load(self, rows=None):
        """SQL that writes the rows (or that many of them); 10,000 keys."""
        topic = "'order'" if self.topics == 1 else f"'order-' || n % {self.topics}"
        parts = {"topic": topic, "rows": rows or self.rows, "size": self.per_transaction}
        statement = (AS_MESSAGES if self.messages else INTO_TABLE).format(**parts)
        return LOAD.format(statement=statement, pad=max(1, self.payload_bytes - AROUND_PAD), **parts)

    @property
    def topic(self):
        """The topic of the rows; one of them, if they have several."""
        return "outbox.event.order" if self.topics == 1 else "outbox.event.order-0"

    def __str__(self):
        where = "messages without a table" if self.messages else f"{self.topics} outbox topic{'s' if self.topics > 1 else ''}"
        return f"{self.rows:,} events of {self.payload_bytes:,} bytes in transactions of {self.per_transaction:,}, {where}"
