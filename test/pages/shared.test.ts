import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkTo, parseAddress, withChoices } from '../../pages/shared/address.ts'
import { tableText } from '../../pages/shared/csv.ts'
import {
  bytes,
  changeText,
  exactUsd,
  milliseconds,
  moment,
  percent,
  roughly,
  tickUsd,
  usd,
} from '../../pages/shared/format.ts'

test('an address says what was chosen, whatever is in the names, and reads the same again', () => {
  const texts = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constantFrom('a&b=c#d', '\u202egnp', '<b>', '100 %+'),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('q', 'client', 'from'), texts), (query) => {
      const { view, query: read } = parseAddress(linkTo('explore', query))
      expect(view).toBe('explore')
      expect(read).toEqual({ ...query })
    }),
    { numRuns: 50, seed: 20_261_126 },
  )
  expect(linkTo('keys', { client: '', cursor: undefined, limit: 5 })).toBe('#/keys?limit=5')
  expect(withChoices('report', {})).toBe('report')
  expect(parseAddress('')).toEqual({ view: '', query: {} })
})

test('figures are short to read, and small amounts do not become nothing', () => {
  expect([0, 1_234.567, 0.1, 0.0375, 0.000_450_000_001].map(usd)).toEqual([
    '$0.00',
    '$1,234.57',
    '$0.10',
    '$0.0375',
    '$0.00045',
  ])
  expect(usd(-12.5)).toBe('-$12.50')
  expect(exactUsd('0.000450000001')).toBe('$0.000450000001')
  expect([0, 150, 2_500, 0.25].map(tickUsd)).toEqual(['$0', '$150', '$2.5K', '$0.25'])
  expect([0, 9_999, 12_345, 58_400_000].map(roughly)).toEqual(['0', '9,999', '12.3K', '58.4M'])
  expect([140, 1_234, 95_000, 7_200_000].map(milliseconds)).toEqual(['140 ms', '1.2 s', '2 min', '2.0 h'])
  expect([0, 2_048, 3_145_728, 5_368_709_120].map(bytes)).toEqual(['0 B', '2.0 KiB', '3.0 MiB', '5.0 GiB'])
  expect([percent(1, 8), percent(1, 0)]).toEqual(['12.5%', '–'])
  expect(moment('2026-11-21T14:03:09.123Z')).toBe('21 Nov, 14:03:09')
})

test('a change says how much more or less, and nothing of nothing', () => {
  expect(
    [
      [0, 0],
      [3, 0],
      [112, 100],
      [50, 100],
      [810, 100],
      [100, 100],
    ].map(([now = 0, before = 0]) => changeText(now, before)),
  ).toEqual([null, 'new', '+12%', '−50%', '8.1×', '±0%'])
})

test('what is seen is a file: exact amounts, and no name that a spreadsheet takes for a formula', () => {
  const columns = [
    { heading: 'Client', value: ({ name }: { name: string; usd: string }) => name },
    { heading: 'Seen only' },
    { heading: 'Cost', value: ({ usd: cost }: { name: string; usd: string }) => cost },
  ]
  const rows = [
    { name: '=1+2', usd: '0.000000000001' },
    { name: '-1+cmd', usd: '-12.5' },
    { name: 'a,"b"\u0007', usd: '3' },
  ]
  expect(tableText(columns, rows)).toBe(
    `Client,Cost\r\n'=1+2,0.000000000001\r\n'-1+cmd,-12.5\r\n"a,""b""\ufffd",3\r\n`,
  )
})
