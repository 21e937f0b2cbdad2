import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { axesShapeOf, axesText, MAX_AXES } from '../../../src/call/axes.ts'
import { eraseValue } from '../../../src/corrections/erase-value.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { addCalls } from '../../../src/usage/calls/add-calls.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aRecord } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(() => emptyTables(ledger.pool, ['call_rows', 'call_kinds']))

/** Adds a call for each of these texts. @returns Their ids. */
async function add(texts: readonly (string | undefined)[]): Promise<readonly string[]> {
  const calls = texts.map((axes) => aRecord({ callId: randomUUID(), axes }))
  await inTransaction(ledger.pool, (session) => addCalls(session, calls))
  return calls.map(({ callId }) => callId)
}

/** What the tables and the view have of these calls, in their order. */
async function stored(callIds: readonly string[]) {
  const { rows } = await ledger.pool.query<{
    shape: string | null
    kept: string | null
    axes: string | null
  }>(
    `select k.axes_shape as shape, r.axes as kept, c.axes
     from tallygate.call_rows r join tallygate.call_kinds k using (day, kind) join tallygate.calls c using (day, call_id)
     where call_id = any($1) order by array_position($1, call_id)`,
    [callIds],
  )
  return rows
}

const NAMES = ['user', 'team', 'run-1', 'a_b']
/** Whatever a line may hold: signs of the text itself, other line breaks, and all of Unicode. */
const VALUE = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).map((value) => value.replace(/[\0\n]/g, '')),
  fc.constantFrom(
    '',
    '=',
    'user=ann',
    '-',
    '~',
    '-user=x=',
    '\r',
    '\u2028',
    '%s',
    '#',
    '$1',
    '\\n',
    '(erased 1)',
  ),
)
const TEXT = fc
  .array(fc.tuple(fc.constantFrom('own', 'other', 'call'), VALUE), { minLength: 1, maxLength: MAX_AXES })
  .map((lines) =>
    axesText(lines.map(([totals, value], place) => ({ axis: NAMES[place] ?? '', value, totals }))),
  )

test('values stand apart from what calls have alike, and are put together again whatever stands in them', async () => {
  expect(axesShapeOf('user=ann\n~team=a=b\n-run-1=')).toEqual({
    shape: 'user=\n~team=\n-run-1=',
    values: 'ann\na=b\n',
  })
  await fc.assert(
    fc.asyncProperty(fc.array(TEXT, { minLength: 1, maxLength: 40 }), async (texts) => {
      const split = texts.map((text = '') => axesShapeOf(text))
      const joined = split.map((parts) => {
        const values = parts?.values.split('\n')
        return parts?.shape
          .split('\n')
          .map((name, place) => `${name}${values?.[place]}`)
          .join('\n')
      })
      expect(joined).toEqual(texts)
      const { rows } = await ledger.pool.query(
        `select tallygate.axes_text(shape, kept) as text
         from unnest($1::text[], $2::text[]) with ordinality p (shape, kept, place) order by place`,
        [split.map((parts) => parts?.shape), split.map((parts) => parts?.values)],
      )
      expect(rows.map(({ text }) => text)).toEqual(texts)
    }),
    { seed: 4_711 },
  )
})

test('a row has the values alone, and calls are of few kinds', async () => {
  const texts = Array.from({ length: 200 }, (_, at) => `user=user-${at}\n-session=${randomUUID()}`)
  const rows = await stored(await add([...texts, undefined]))
  expect(rows.map(({ axes }) => axes)).toEqual([...texts, null])
  expect(rows[7]).toMatchObject({
    shape: 'user=\n-session=',
    kept: texts[7]?.replace(/^user=|-session=/gm, ''),
  })
  const { rows: kinds } = await ledger.pool.query('select from tallygate.call_kinds')
  expect(kinds).toHaveLength(2)
})

test.each([
  ['nothing', ''],
  ['no name', 'ann'],
  ['an empty line', 'user=ann\n'],
  ['a name of another form', 'User=ann'],
  ['more lines than there are axes', 'a=1\nb=2\nc=3\nd=4\ne=5'],
])('a text with %s is left whole', async (_, text) => {
  expect(axesShapeOf(text)).toBeNull()
  expect(await stored(await add([text]))).toEqual([{ shape: null, kept: text, axes: text }])
})

test('a row of a worker of before, with names of its own, is read as it is', async () => {
  const ids = await add([undefined, 'user=ann'])
  // Such a worker finds the kind of calls without axes.
  await ledger.pool.query(`update tallygate.call_rows set axes = 'user=ann\n-run=1' where call_id = $1`, [
    ids[0],
  ])
  expect(await stored(ids)).toEqual([
    { shape: null, kept: 'user=ann\n-run=1', axes: 'user=ann\n-run=1' },
    { shape: 'user=', kept: 'ann', axes: 'user=ann' },
  ])
})

test('a value is erased wherever its name stands, and no other is', async () => {
  const texts = [
    'user=ann',
    '-run=user=ann\n~user=ann',
    '-team=ann\nuser=ann',
    '~user=ann=',
    'user=bob\n-x=ann',
  ]
  const whole = await add(texts.map(() => undefined))
  await ledger.pool.query(
    `update tallygate.call_rows r set axes = t.axes from unnest($1::uuid[], $2::text[]) t (id, axes)
     where r.call_id = t.id`,
    [whole, texts],
  )
  const apart = await add(texts)
  expect(await eraseValue(ledger.pool, 'user', 'ann', null)).toMatchObject({ calls: 6 })
  const erased = [
    'user=(erased)',
    '-run=user=ann\n~user=(erased)',
    '-team=ann\nuser=(erased)',
    '~user=ann=',
    'user=bob\n-x=ann',
  ]
  expect((await stored([...whole, ...apart])).map(({ axes }) => axes)).toEqual([...erased, ...erased])
  expect((await stored(apart)).map(({ kept }) => kept?.split('\n').at(-1))).toEqual([
    ...['(erased)', '(erased)', '(erased)', 'ann=', 'ann'],
  ])
})
