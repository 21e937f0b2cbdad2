import { expect, test } from 'vitest'
import { JsonScanner } from '../../../src/providers/wires/json.ts'
import { compilePaths, walkToName } from '../../../src/providers/wires/plans/json-paths.ts'

const WALK = compilePaths([
  { path: 'a', tag: 'top' },
  { path: 'a.b', tag: 'below' },
  { path: 'in.**.c', tag: 'inside' },
  { path: '**.file_id', tag: 'anywhere', inner: 'id' },
])

/** What is passed on of `text` in pieces of this many bytes; `null`: it is malformed or cut. */
function textsIn(text: string, bytes = 1_000_000): readonly string[] | null {
  const found: string[] = []
  const scanner = new JsonScanner(WALK, false, ({ tags }, value) => {
    found.push(`${tags.join('+')} ${value}`)
  })
  const whole = Buffer.from(text)
  for (let at = 0; at < whole.length; at += bytes) scanner.push(whole.subarray(at, at + bytes))
  scanner.end()
  return scanner.isMalformed || !scanner.done ? null : found
}

const LONG = 'x'.repeat(20_000)

test.each([
  ['{"a":"1"}', ['top 1']],
  ['{"a":{"b":"2"}}', ['below 2']],
  ['{"a":["1",{"b":["2"]}]}', ['top 1', 'below 2']],
  ['{"in":{"c":"3","x":{"y":{"c":["4"]}}},"c":"no"}', ['inside 3', 'inside 4']],
  ['{"x":[{"file_id":"5"},{"in":{"c":{"file_id":"6"}}}]}', ['anywhere 5', 'anywhere 6']],
  ['{"file_id":{"id":"7","x":"no","y":{"file_id":"8"}}}', ['anywhere 7', 'anywhere 8']],
  ['{"a":"1","a":null,"a":"2","A":"3"}', ['top 1', 'top 2', 'top 3']],
  ['{"\\u0061":"\\u0031","FILE\\u005FID":"é\\n"}', ['top 1', 'anywhere é\n']],
  ['{"\u017f":"no","file_\u0131d":"no","a":true}', []],
  [`{"a":"${LONG}"}`, ['top null']],
  [` \n {\t"x" : -1.5e3 , "a" :\r"1" } \n`, ['top 1']],
  ['"text"', []],
  ['[]', []],
] as const)('of %s the texts at the paths are passed on: %j', (text, expected) => {
  for (const bytes of [1, 2, 3, 5, 1_000_000]) expect(textsIn(text, bytes)).toEqual(expected)
})

test.each([
  '{"a":"1"',
  '{"a" "1"}',
  '{"a":"1"]',
  '[{"a":"1"]}',
  '{a:"1"}',
  "{'a':'1'}",
  '{"a":"1"}}',
  '{"a":"1"} x',
  '{"x":,"a":"1"}',
  '{"x":1"a":"1"}',
  '{"a":"\\x"}',
  '/**/{"a":"1"}',
  '{\0"a":"1"}',
  '['.repeat(600),
  '',
])('what servers could read in two ways is malformed, in any pieces: %s', (text) => {
  for (const bytes of [1, 3, 1_000_000]) expect(textsIn(text, bytes)).toBeNull()
})

test('what a name means at any depth is made once, not at every place', () => {
  const walk = compilePaths([
    { path: 'a.b', tag: 'below' },
    { path: '**.file_id', tag: 'anywhere' },
  ])
  const memberOf = (place: typeof walk | null) => place?.byLength[7]?.find(({ key }) => key === 'file_id')
  expect(memberOf(walk)).toBeDefined()
  for (const place of [walk.others, walkToName(walk, 'a'), walkToName(walk, 'file_id')])
    expect(memberOf(place as typeof walk)).toBe(memberOf(walk))
})
