-- In the consumer's own database: the ids of events that it has handled.
CREATE TABLE inbox (
  id text PRIMARY KEY,                              -- the header "id"
  handled_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON inbox (handled_at);                 -- to delete old ones by

-- What the examples do with an event; yours will do something else.
CREATE TABLE effects (
  topic text NOT NULL,
  value text
);
