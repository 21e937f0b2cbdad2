import { writeFileSync } from 'node:fs'
import { renderCheck, renderTables } from './tables.ts'

/** Writes the tables, views and check for ClickHouse: `npm run clickhouse`. */
writeFileSync('examples/clickhouse/tables.sql', renderTables())
writeFileSync('examples/clickhouse/check.sql', renderCheck())
