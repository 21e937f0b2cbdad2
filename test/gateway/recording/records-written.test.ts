import { expect, test } from 'vitest'
import { recordsWritten } from '../../../src/gateway/recording/records-written.ts'

test('a process that ends waits for counts for a while only, and then for records without them', async () => {
  let openCalls = 1
  const stats = () => ({ openCalls })
  await recordsWritten({ stats }, { countMs: 20, giveUp: () => setImmediate(() => --openCalls) })
  expect(openCalls).toBe(0)
})

test('a process that ends leaves counts alone where no call is open', async () => {
  const stats = () => ({ openCalls: 0 })
  await recordsWritten({ stats }, { countMs: 0, giveUp: () => expect.unreachable() })
})
