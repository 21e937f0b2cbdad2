import { expect, test } from 'vitest'
import { renderAlert } from '../../src/alerts/alert-body.ts'
import { ALERT_FORMATS } from '../../src/alerts/alert-kinds.ts'
import { addReceiver } from '../../src/alerts/receivers.ts'
import { booksDiffer } from '../../src/corrections/conditions.ts'
import { ALERT_KINDS } from '../../src/doctor/conditions.ts'
import type { AlertPayload } from '../../src/domain/conditions/condition.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { noWorkerRuns } from '../../src/store/conditions/workers.ts'
import { openRedis } from '../../src/store/connection/redis.ts'
import { createAlertWatch } from '../../workers/alerts/alert-watch.ts'
import { addAccount, addBudget, addSpending } from '../alerts/budget-usage.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'
import { settled } from './settled.ts'
import { openTroubledLedger } from './troubled-ledger.ts'

const TODAY = holdClockAtNoon()

test('every kind of alert, as it is sent in each format', async () => {
  const keys = testRedisPrefix()
  const redis = openRedis(keys.redisUrl, {
    name: 'test',
    whenAway: 'fail',
    silenceMs: 3_000,
    log: SILENT_LOG,
  })
  const ledger = await openTroubledLedger(keys.prefix, redis)
  const { pool } = ledger
  try {
    const wanted = { url: 'http://localhost:1/', format: 'generic' as const, secret: null, client: null }
    await addReceiver(pool, { ...wanted, kinds: ALERT_KINDS, thresholds: [80] }, 'somebody')
    await addAccount(pool, 'cli_a')
    await addBudget(pool, { client: 'cli_a', per: 'day', amount: 1_000_000_000_000n })
    await addBudget(pool, {
      client: 'cli_a',
      per: 'total',
      since: TODAY,
      amount: 1_000_000_000_000n,
      soft: true,
    })
    await addAccount(pool, 'spender')
    await addSpending(
      pool,
      Array.from({ length: 9 }, (_, week) => ({
        client: 'spender',
        day: addDays(TODAY, -7 * week),
        costPico: (week === 0 ? 90n : 10n) * 1_000_000_000_000n,
      })),
    )
    const watch = createAlertWatch({
      pool,
      redis,
      redisPrefix: keys.prefix,
      onDeliveries: async () => {},
      log: SILENT_LOG,
    })
    await watch.watchUrgent()
    await watch.watchOften()
    await watch.watchOthers()
    await watch.raise('books', [booksDiffer(3, TODAY, TODAY)])
    await watch.raise('backlog', [noWorkerRuns(TODAY)])

    const { rows } = await pool.query<{ kind: string; client: string | null; payload: AlertPayload }>(
      `select a.kind, c.name as client, a.payload from tallygate.alerts a
       left join tallygate.clients c on c.id = a.client_id order by a.kind, a.subject collate "C", a.threshold`,
    )
    const found = new Set(rows.map(({ kind }) => kind))
    expect(
      ALERT_KINDS.filter((kind) => !found.has(kind)),
      'test/golden/troubled-ledger.ts has nothing that makes these alerts',
    ).toEqual([])
    expect([...found].filter((kind) => !ALERT_KINDS.some((known) => known === kind))).toEqual([])
    const at = new Date('2026-01-20T14:03:15.201Z')
    for (const format of ALERT_FORMATS) {
      const bodies = rows.map((row) => {
        const body = renderAlert({ ...row, id: 'alt_9hTq2mWcXv7LrK4bN0sE', at }, format)
        return `# ${row.kind}\n${JSON.stringify(JSON.parse(body), null, 2)}\n`
      })
      await expect(settled(bodies.join('\n'), ledger.names)).toMatchFileSnapshot(
        `alerts.${format}.golden.txt`,
      )
    }
  } finally {
    await ledger.drop()
    redis.disconnect()
    await keys.drop()
  }
})
