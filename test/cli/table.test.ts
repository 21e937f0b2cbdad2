import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { inColour, renderTable, widthOf } from '../../src/operations/table.ts'

const plain = (...given: Parameters<typeof renderTable>) => stripVTControlCharacters(renderTable(...given))

test('a table may have more rows than a call can have arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, number) => [`${number}`, 'x'])
  const lines = renderTable([{ heading: 'N', align: 'right' }, { heading: 'X' }], rows).split('\n')
  expect(lines).toHaveLength(200_001)
  expect(lines.at(1)).toBe('     0  x')
})

test('amounts stand with their points under each other, beside words and above their sum', () => {
  const columns = [{ heading: 'MODEL' }, { heading: 'COST USD', align: 'right' as const }]
  const rows = [
    ['a', '0.0106'],
    ['b', '0.00333755'],
    ['c', '12'],
    ['d', 'unpriced'],
  ]
  expect(plain(columns, rows, ['(all)', '12.01393755'])).toBe(
    [
      'MODEL     COST USD',
      'a       0.0106',
      'b       0.00333755',
      'c      12',
      'd         unpriced',
      '(all)  12.01393755',
    ].join('\n'),
  )
})

test('names in wide characters, and letters with accents, take the columns that terminals give them', () => {
  expect(['abc', '模型', 'ｱ', '한국', 'e\u0301', '🚀'].map(widthOf)).toEqual([3, 4, 1, 4, 1, 2])
  const lines = plain(
    [{ heading: 'CLIENT' }, { heading: 'N' }],
    [
      ['模型公司', '1'],
      ['acme', '2'],
    ],
  ).split('\n')
  expect(lines).toEqual(['CLIENT    N', '模型公司  1', 'acme      2'])
})

test('only states have colours, so that a name cannot look like one in another place', () => {
  expect(inColour('WRONG', 'WRONG')).not.toBe('WRONG')
  expect(inColour('acme', 'acme')).toBe('acme')
  expect(inColour('constructor', 'constructor')).toBe('constructor')
})
