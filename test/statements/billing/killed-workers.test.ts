// @long: a process for each of 24 kills
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BillingDeployment, KINDS } from './deployment.ts'

let it: BillingDeployment

beforeAll(async () => {
  it = await BillingDeployment.open()
})
afterAll(async () => {
  await it.clear()
  await it.close()
})

const KILLS = 24

test('workers killed with -9 between sending and keeping what came of it lose and double nothing', async () => {
  const receivers = KINDS.map((kind) => it.receiver(kind))
  for (const { name } of receivers) await it.map(name)
  for (let kill = 0; kill < KILLS; kill += 1) {
    await it.count([1_000n * BigInt(kill + 1), 2_000n, 3_000n], { daysAgo: kill % 3 })
    if (kill % 3 === 0) await it.credit('cli_a', -5_000n)
    const worker = fork('test/statements/billing/worker.ts', [it.ledger.url, JSON.stringify(receivers)], {
      execArgv: [],
    })
    const dead = once(worker, 'exit')
    let left = kill % 5
    // What is under way has arrived when the process dies, and nothing comes back.
    it.standIn.fail(() => {
      if (left === 0) worker.kill('SIGKILL')
      left -= 1
      return 'none'
    })
    expect(await dead).toEqual([null, 'SIGKILL'])
    await it.pool.query('update tallygate.billing_receivers set held_until = now()')
  }
  expect(it.standIn.seen.again).toBeGreaterThan(0)
  it.standIn.fail(() => 'none')
  it.start(receivers)
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums(receivers))
  await expect.poll(() => it.waiting()).toBe(0)
  const { rows } = await it.pool.query(
    `select state, count(*)::int as n from tallygate.billing_events group by 1`,
  )
  expect(rows).toEqual([{ state: 'sent', n: it.standIn.taken.length }])
})
