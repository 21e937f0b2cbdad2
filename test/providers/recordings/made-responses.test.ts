import { describe, expect, test } from 'vitest'
import { scanJson } from '../../../src/providers/wires/scan-json.ts'
import {
  comparedPart,
  type MadeResponse,
  requestFor,
  wholeObservation,
} from '../../fixtures/made-response.ts'
import { MADE_BY_PROMISE } from '../../fixtures/made-responses.ts'
import { madeSessions } from '../../fixtures/sessions.ts'
import { rounds } from '../../support/rounds.ts'
import { dialectOf } from './dialect-of.ts'
import { cutsOf, cutsTogether, type Exchange, readBytes, readCutAt, readWhole, sameReading } from './judge.ts'

/** Larger bodies are cut at chosen places. */
const CUT_EVERYWHERE_BYTES = 8192

const cuts = rounds<(body: Buffer) => readonly (readonly number[])[]>({
  short: (body) => cutsTogether(body, CUT_EVERYWHERE_BYTES),
  long: (body) => cutsOf(body, CUT_EVERYWHERE_BYTES).map((at) => [at]),
})

function exchangeOf(made: MadeResponse): Exchange {
  const dialect = dialectOf(made.provider, made.method ?? 'POST', made.path)
  if (dialect === null) throw new Error(`nothing is metered at ${made.provider} ${made.path}`)
  return {
    id: made.oddity,
    dialect,
    request: requestFor(made, dialect),
    head: { status: made.status ?? 200, headers: made.headers ?? {} },
    body: Buffer.from(made.body),
  }
}

/** The provider's oddities, read as they should be, at every split. */
describe.each(MADE_BY_PROMISE)('%s', (_promise, responses) => {
  for (const made of responses) {
    test(`${made.provider} ${made.path}: ${made.oddity}`, () => {
      const exchange = exchangeOf(made)
      const whole = readWhole(exchange)
      expect(comparedPart(whole)).toEqual(wholeObservation(made.expected))
      if (exchange.body.length < 100_000) {
        const { last, peeked } = readBytes(exchange)
        expect(last).toEqual(whole)
        for (const early of peeked)
          if (early.usageSource === 'reported') expect(early.usage).toEqual(whole.usage)
      }
      const bad = cuts(exchange.body).filter((at) => !sameReading(readCutAt(exchange, ...at), whole))
      expect(bad).toEqual([])
    })
  }
})

describe('sessions are read as they should be', () => {
  test.each(
    madeSessions.map((made) => [`${made.provider} ${made.path}: ${made.oddity}`, made] as const),
  )('%s', (_name, { provider, path, said, messages, expected }) => {
    const dialect = dialectOf(provider, 'GET', path)
    const reader = dialect?.createMessageReader?.({ method: 'GET', path, model: null, stream: null })
    if (!dialect || !reader) throw new Error(`${provider} ${path} is not a session`)
    for (const message of messages) {
      const lent = Buffer.from(JSON.stringify(message))
      reader.message(lent)
      lent.fill(0x21)
    }
    const format = dialect.clientMessages
    const kept = format && scanJson(Buffer.from(JSON.stringify(said)), format.projection).value
    const named = format?.read(kept).model ?? null
    const { model, ...read } = comparedPart(reader.peek())
    expect({ ...read, model: model ?? named }).toEqual(wholeObservation(expected))
    expect(reader.underWay).toBe(false)
  })
})
