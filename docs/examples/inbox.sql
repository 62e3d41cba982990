-- In the consumer's own database: the ids of events that it has handled. Whoever runs this needs the right to make tables
-- in the schema: from PostgreSQL 15 on only the database's owner has it in "public". An administrator gives it by
--   GRANT CREATE ON SCHEMA public TO billing;
-- or runs this file, and then lets the consumer's role use the tables:
--   GRANT SELECT, INSERT, DELETE ON inbox, effects TO billing;
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
