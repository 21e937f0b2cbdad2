-- Each call of a value updates its row of the day. With room left on its page the update stays there, no index entry is
-- added, and the next one cleans up. The table keeps the rows of all days: a fifth of them would be weeks.
alter table axis_usage set (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
