import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ObjectWalk } from '../../../src/providers/wires/object-walk.ts'
import { rounds } from '../../support/rounds.ts'

interface Walked {
  readonly members: readonly (readonly number[])[]
  readonly isWhole: boolean
  readonly isMalformed: boolean
}

/** Walks `body` by windows that end at each of `ends`, and then to its end. */
function walk(body: Buffer, ends: readonly number[], maxMembers = 1_000): Walked {
  const members: number[][] = []
  const walked = new ObjectWalk(0, maxMembers, (...member) => members.push(member))
  for (const end of ends) walked.advance(body.subarray(0, end))
  walked.advance(body)
  return { members, isWhole: walked.isWhole(body), isMalformed: walked.isMalformed }
}

function everyEnd(body: Buffer): number[] {
  return Array.from(body, (_, at) => at)
}

const fragments = fc.constantFrom(
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    '\\\\',
    ' ',
    '\n',
    '"a"',
    '"a":1',
    'tru',
    '0.1e5',
    '/',
    'é',
  ],
)

test('a walk in pieces tells what a walk in one piece tells, wherever it stops', () => {
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 60 }), fc.jsonValue(), (broken, value) => {
      const long = { text: '"\\ é'.repeat(40), value, list: [[], {}, [value]], 'key "\\': -1.5e3 }
      for (const text of [
        `{"a":${broken.join('')}}`,
        `{${broken.join('')}`,
        ` ${JSON.stringify(long, null, 1)} `,
      ]) {
        const body = Buffer.from(text)
        expect(walk(body, everyEnd(body))).toEqual(walk(body, []))
      }
    }),
    { numRuns: rounds({ short: 250, long: 1_000 }), seed: 20_261_126 },
  )
})

test('JSON objects are whole in any pieces, and their members have keys and values', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.array(fc.nat({ max: 300 })),
      (object, ends) => {
        const body = Buffer.from(JSON.stringify(object))
        const { members, isWhole } = walk(
          body,
          ends.toSorted((a, b) => a - b),
        )
        expect(isWhole).toBe(true)
        const read = members.map(([keyStart = 0, keyEnd = 0, start = 0, end = 0]) => [
          JSON.parse(`"${body.toString('utf8', keyStart, keyEnd)}"`),
          JSON.parse(body.toString('utf8', start, end)),
        ])
        expect(read).toEqual(Object.entries(JSON.parse(body.toString())))
      },
    ),
    { numRuns: rounds({ short: 250, long: 1_000 }), seed: 20_261_126 },
  )
})

test('more members than wanted end the walk', () => {
  const body = Buffer.from(`{${'"a":1,'.repeat(5)}"b":1}`)
  expect(walk(body, [], 6)).toMatchObject({ isWhole: true, isMalformed: false })
  const { members, isWhole, isMalformed } = walk(body, [], 5)
  expect([members.length, isWhole, isMalformed]).toEqual([5, false, true])
})
