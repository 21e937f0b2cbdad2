import { expect, test } from 'vitest'
import { renderTable } from '../../src/operations/table.ts'

test('a table may have more rows than a call can have arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, number) => [`${number}`, 'x'])
  const lines = renderTable([{ heading: 'N', align: 'right' }, { heading: 'X' }], rows).split('\n')
  expect(lines).toHaveLength(200_001)
  expect(lines.at(1)).toBe('     0  x')
})
