import type { BillingReceiver } from '../../../src/statements/billing/mouths.ts'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import { startBilling } from '../../../workers/billing.ts'
import { quiet } from '../../rollup/records.ts'

/** A process that does what a worker does for billing systems, until it is killed. */
const [url = '', receivers = '[]'] = process.argv.slice(2)
const pool = openPostgres(url, {
  ...{ max: 8, statementTimeoutMs: 60_000, applicationName: 'test billing', log: quiet },
})
startBilling({
  pool,
  receivers: JSON.parse(receivers) as readonly BillingReceiver[],
  log: quiet,
  times: { idle: 5, lease: 5_000, pause: 5, longestPause: 40 },
})
