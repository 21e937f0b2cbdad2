import { expect, test } from 'vitest'
import { ClientCounts } from '../../../src/metrics/client-counts.ts'
import { aRecord } from '../../rollup/records.ts'

test('a client that is named as the rest is has a label of its own', () => {
  const counts = new ClientCounts(2)
  const calls = ['cli_a', 'cli_b', 'cli_c'].map((clientId, at) =>
    aRecord({ clientId, costPico: `${3 - at}` }),
  )
  for (const call of calls) counts.add(call)
  expect(counts.place()).toEqual(['cli_a', 'cli_b'])
  for (const call of calls) counts.add(call)
  const names = new Map([
    ['cli_a', 'other'],
    ['cli_b', 'beta'],
  ])
  expect([...counts.counts(names)]).toEqual([
    { client: 'cli_a', calls: 1, costPico: 3n },
    { client: 'beta', calls: 1, costPico: 2n },
    { client: 'other', calls: 4, costPico: 7n },
  ])
})
