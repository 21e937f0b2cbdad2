import { expect, test } from 'vitest'
import { readAzureMeter } from '../src/azure/azure-meters.ts'

test('meters are read by the words that Azure spells in many ways, and what is left is the name', () => {
  expect(readAzureMeter('5.4 mini cd Inp Gl 1M Tokens')).toEqual({
    name: '54mini',
    revision: null,
    key: 'cache_read_mtok',
    tier: null,
    place: 'global',
    isLong: false,
  })
  expect(readAzureMeter('gpt-4o-mini-0718-Outp-glbl Tokens')).toMatchObject({
    name: 'gpt4omini',
    revision: '0718',
    key: 'output_mtok',
  })
  expect(readAzureMeter('6-astra LongCo Cd Wr Std Gl')).toMatchObject({
    name: '6astra',
    key: 'cache_write_mtok',
    isLong: true,
  })
  expect(readAzureMeter('o4-mini 0416 cached Inp DataZone Tokens')).toMatchObject({ place: 'data-zone' })
  expect(readAzureMeter('text-embedding-3-large-regional Tokens')).toMatchObject({
    key: 'input_mtok',
    place: 'regional',
  })
  expect(readAzureMeter('chat-latest 08062026 inp Gl')).toMatchObject({ revision: '0806' })
  expect(readAzureMeter('Provisioned Managed Global Unit')).toBeNull()
})
