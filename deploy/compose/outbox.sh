#!/bin/bash
# Run once by PostgreSQL's image: the table, and the relay's role.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -v password="$(cat /run/secrets/db-password)" -U "${POSTGRES_USER:-postgres}" -d "$POSTGRES_DB" <<'END'
CREATE TABLE outbox_messages (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  occurred_at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL,
  payload jsonb NOT NULL
);
CREATE ROLE walrelay LOGIN REPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE shop TO walrelay;
END
