import { expect, test } from 'vitest'
import { WakeSignal } from '../../../src/ledger/shipping/wake-signal.ts'

test('a wake ends a sleep without a limit', async () => {
  const signal = new WakeSignal()
  const sleeping = signal.sleep(Number.POSITIVE_INFINITY)
  signal.wake()
  await sleeping
})

test('a wake that comes before the sleep is not lost, until the loop looks again', async () => {
  const signal = new WakeSignal()
  signal.wake()
  await signal.sleep(Number.POSITIVE_INFINITY)
  signal.reset()
  const begunMs = performance.now()
  await signal.sleep(20)
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(19)
})
