import { expect, test } from 'vitest'
import { rounds } from '../../../test/support/rounds.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { cut, damage, makeAnswer } from './made-answers.ts'
import { askNode } from './node-oracle.ts'
import { type Parsed, parse } from './parsed.ts'

/** `FUZZED_ANSWERS=200000 FUZZ_SEED=2 npx vitest run ...` for more. */
const ANSWERS = Number(process.env.FUZZED_ANSWERS ?? rounds({ short: 1_500, long: 20_000 }))
const SEED = Number(process.env.FUZZ_SEED ?? 1)

/** Refused here and taken by Node: a coding that is not undone, an empty line first, odd signs in an extension, 101, a trailer like a frame. */
const STRICTER = new Set([
  'a transfer coding is not chunked alone',
  'the answer begins with no status line',
  'a chunk extension is malformed',
  'the server changed the protocol unasked',
  'a trailer frames the answer',
])

/** Node takes no answer for chunked where a tab is behind that, which is nothing (RFC 9110, 5.5). */
const TAB_BEHIND_CODING = /transfer-encoding:[^\r\n]*\t\r\n/i
/** Answers of 1xx. Node reads nothing behind one that says that the connection closes. */
const INTERIM = /^(?:HTTP\/1\.[01] 1(?!01)\d\d(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n)+/

/** The shortest beginning of `text` that is a whole answer. */
function firstAnswer(text: string, isHead: boolean): string {
  let short = 0
  let long = text.length
  while (short < long) {
    const middle = (short + long) >> 1
    if (parse([text.slice(0, middle)], isHead).isComplete) long = middle
    else short = middle + 1
  }
  return text.slice(0, long)
}

function trailersOf(raw: readonly string[]): Parsed['trailers'] {
  const trailers: Record<string, string | string[]> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase()
    const before = trailers[name]
    trailers[name] = before === undefined ? (raw[i + 1] ?? '') : [before, raw[i + 1] ?? ''].flat()
  }
  return raw.length === 0 ? null : trailers
}

/** What cannot depend on how the bytes were cut. */
const outcomeOf = ({ status, reason, rawHeaders, body, trailers, isComplete }: Parsed) =>
  isComplete ? { status, reason, rawHeaders, body, trailers } : 'refused'

test(`${ANSWERS} proper and damaged answers are read as Node reads them, whatever their cut`, async () => {
  const random = seededRandom(SEED)
  const pick = (below: number) => Math.floor(random() * below)
  const wrong: object[] = []
  let accepted = 0
  let refused = 0
  let stricter = 0
  for (let i = 0; i < ANSWERS; i++) {
    const proper = makeAnswer(pick)
    const text = pick(3) === 0 ? proper : damage(proper, pick)
    const isHead = pick(10) === 0
    if (TAB_BEHIND_CODING.test(text)) continue
    const parsed = parse([text, null], isHead)
    const outcome = outcomeOf(parsed)
    const inPieces = outcomeOf(parse([...cut(text, pick), null], isHead))
    if (JSON.stringify(inPieces) !== JSON.stringify(outcome)) wrong.push({ text, isHead, outcome, inPieces })
    // Node gives an answer up for what comes behind it, where this connection is only not used again.
    const asked = parsed.hasSurplus ? firstAnswer(text, isHead) : text
    let node = await askNode(asked, isHead)
    if (node === null && parsed.isComplete) node = await askNode(asked.replace(INTERIM, ''), isHead)
    if (node !== null && outcome === 'refused' && STRICTER.has(parsed.problem ?? '')) {
      stricter += 1
      continue
    }
    const { rawTrailers = [], ...rest } = node ?? {}
    const expected = node === null ? 'refused' : { ...rest, trailers: trailersOf(rawTrailers) }
    try {
      expect(outcome).toEqual(expected)
    } catch {
      wrong.push({ text, isHead, outcome, expected })
    }
    if (node === null) refused += 1
    else accepted += 1
  }
  expect(wrong).toEqual([])
  expect(accepted).toBeGreaterThan(ANSWERS / 4)
  expect(refused).toBeGreaterThan(ANSWERS / 5)
  expect(stricter).toBeLessThan(ANSWERS / 50)
})
