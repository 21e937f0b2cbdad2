import { expect, test } from 'vitest'
import { entryOf } from '../../../src/providers/registry.ts'
import { dialectOf } from './dialect-of.ts'
import { loadRecordings } from './recordings.ts'

test('where a provider whose figure is believed says what a call cost, it is read', () => {
  const unread: string[] = []
  let read = 0
  for (const { id, provider, path, meta, body, headers } of loadRecordings()) {
    const says = /"(?:cost|total_cost|cost_in_usd_ticks)":/.test(body.toString())
    if (!says || entryOf(provider).reportsCost !== true) continue
    const { method, status, request_model: model = null, request_stream: stream = null } = meta
    const reader = dialectOf(provider, method, path)?.createReader(
      { method, path, model, stream },
      { status, headers },
    )
    reader?.push(body)
    if ((reader?.end().reportedCostPico ?? null) === null) unread.push(id)
    else read += 1
  }
  expect(unread).toEqual([])
  expect(read).toBeGreaterThan(10)
})
