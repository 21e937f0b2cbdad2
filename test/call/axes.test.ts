import { expect, test } from 'vitest'
import { type AxisValue, axesText, parseAxes } from '../../src/call/axes.ts'

test('values are read as they were written, whatever stands in them', () => {
  const values: readonly AxisValue[] = [
    { axis: 'user', value: 'a=b ~-(x) é', totals: 'own' },
    { axis: 'team', value: '-', totals: 'other' },
    { axis: 'run-1', value: '=', totals: 'call' },
  ]
  expect(parseAxes(axesText(values))).toEqual(values)
  expect(axesText([])).toBeUndefined()
})

test('of a text of another form the lines that hold are read, each axis once and at most four', () => {
  expect(parseAxes('user=a\nuser=b\n=c\nteam\nx=y').map(({ axis, value }) => [axis, value])).toEqual([
    ['user', 'a'],
  ])
  for (const text of ['', '\n', 'user=', 'User=a', '--user=a', null, undefined]) {
    expect(parseAxes(text), `${text}`).toEqual([])
  }
})
