import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Child } from '../../src/standalone/stand/child.ts'
import { busyness } from '../support/patience.ts'
import { describeTroubles } from './doctor.ts'
import { startWorld } from './world.ts'

const MINUTES = Number(process.env.TEST_MINUTES ?? 10)
const ASK_EVERY_MS = 5_000
/** Between two restarts: one process after the other. */
const RESTART_EVERY_MS = 30_000
const GRACE_MS = 20_000
/** After its start, all processes have said what they are. */
const SETTLED_WITHIN_MS = 30_000

test(`${MINUTES} minutes of load, with gateways and workers restarted one after the other: nothing is said to be wrong, and no alert is sent`, {
  timeout: MINUTES * 60_000 + 240_000,
}, async () => {
  const world = await startWorld()
  try {
    await world.run({ GATEWAY_PROCESSES: '2' }, {})
    const second = await world.addGateway({ name: 'second', env: { GATEWAY_PROCESSES: '2' } })
    const otherWorker = world.stand.worker({ name: 'second worker' })
    await Promise.all([second.start(), otherWorker.start()])
    await expect
      .poll(async () => (await world.doctor()).exitCode, { timeout: SETTLED_WITHIN_MS * busyness() })
      .toBe(0)

    const lanes = Array.from({ length: 4 }, () => world.keepCalling())
    const untilMs = performance.now() + MINUTES * 60_000
    const found = new Map<string, number>()
    const degraded = new Map<string, number>()
    let asked = 0
    const asking = (async () => {
      while (performance.now() < untilMs) {
        const diagnosis = await world.doctor()
        asked += 1
        if (diagnosis.exitCode !== 0) {
          const said = describeTroubles(diagnosis)
          for (const line of said.split('\n').filter((one) => one.startsWith('wrong')))
            found.set(line, (found.get(line) ?? 0) + 1)
        }
        for (const word of (await world.degraded()) ?? [])
          if (word !== 'stopping') degraded.set(word, (degraded.get(word) ?? 0) + 1)
        await delay(ASK_EVERY_MS)
      }
    })()
    const restarted: Child[] = [second, world.worker, world.gateway, otherWorker]
    let restarts = 0
    while (performance.now() + RESTART_EVERY_MS < untilMs) {
      await delay(RESTART_EVERY_MS)
      const child = restarted[restarts % restarted.length]
      restarts += 1
      await child?.stop(GRACE_MS)
      await child?.start()
    }
    await asking
    await Promise.all(lanes.map((lane) => lane.stop()))
    console.log(
      `${MINUTES} minutes: ${world.answers.length} calls, ${restarts} restarts, doctor ran ${asked} times; ` +
        `wrong ${found.size}, alerts ${world.receiver.received.length}, degraded ${[...degraded].join(' ') || 'never'}`,
    )
    expect([...found]).toEqual([])
    expect(world.receiver.received.map(({ body }) => body)).toEqual([])
  } finally {
    await world.stop()
  }
})
