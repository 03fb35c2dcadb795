-- 0010_answer: answers of requests that make no jobs, kept under their idempotency key: status, headers and body as sent.
ALTER TABLE windlass.idempotency ADD COLUMN answer bytea;
