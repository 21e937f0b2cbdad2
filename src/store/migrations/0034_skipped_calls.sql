-- Calls that Kafka did not get whose days were deleted: their number, since the outbox is in use.

alter table call_outbox_state add column skipped_before bigint not null default 0;
