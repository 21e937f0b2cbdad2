import { describe, expect, test } from 'vitest'
import { anthropicResponses } from '../../fixtures/anthropic.ts'
import { bedrockResponses } from '../../fixtures/bedrock.ts'
import { googleResponses } from '../../fixtures/google.ts'
import { googleToolResponses } from '../../fixtures/google-tools.ts'
import { groqToolResponses } from '../../fixtures/groq-tools.ts'
import { type MadeResponse, wholeObservation } from '../../fixtures/made-response.ts'
import { nativeResponses } from '../../fixtures/native.ts'
import { usageOtherwiseNamed, usageTakenBack } from '../../fixtures/odd-usage.ts'
import { openAiChatResponses } from '../../fixtures/openai-chat.ts'
import { openAiMediaResponses } from '../../fixtures/openai-media.ts'
import { openAiResponsesResponses } from '../../fixtures/openai-responses.ts'
import { responsesToolResponses } from '../../fixtures/responses-tools.ts'
import { serverToolResponses } from '../../fixtures/server-tools.ts'
import { dialectOf } from './dialect-of.ts'
import { cutsOf, type Exchange, readBytes, readCutAt, readWhole, sameReading } from './judge.ts'

const CUT_EVERYWHERE_BYTES = 8192

function exchangeOf(made: MadeResponse): Exchange {
  const method = made.method ?? 'POST'
  const dialect = dialectOf(made.provider, method, made.path)
  if (dialect === null) throw new Error(`nothing is metered at ${made.provider} ${made.path}`)
  return {
    id: made.oddity,
    dialect,
    request: { method, path: made.path, model: null, stream: null },
    head: { status: made.status ?? 200, headers: made.headers ?? {} },
    body: Buffer.from(made.body),
  }
}

/** The provider's oddities, read as they should be, at every split. */
function readsAsExpected(responses: readonly MadeResponse[]): void {
  for (const made of responses) {
    test(`${made.provider} ${made.path}: ${made.oddity}`, () => {
      const exchange = exchangeOf(made)
      const whole = readWhole(exchange)
      const { raw: _, answerId: _id, madeAtMs: _made, ...read } = whole
      expect(read).toEqual(wholeObservation(made.expected))
      if (exchange.body.length < 100_000) {
        const { last, peeked } = readBytes(exchange)
        expect(last).toEqual(whole)
        for (const early of peeked)
          if (early.usageSource === 'reported') expect(early.usage).toEqual(whole.usage)
      }
      const cuts = cutsOf(exchange.body, CUT_EVERYWHERE_BYTES)
      expect(cuts.filter((at) => !sameReading(readCutAt(exchange, at), whole))).toEqual([])
    })
  }
}

describe('chat completions and completions are read as they should be', () => {
  readsAsExpected(openAiChatResponses)
})

describe('of a usage that says nothing, the one before it counts', () => {
  readsAsExpected(usageTakenBack)
})

describe("counts under another format's names, or not all of them, are read", () => {
  readsAsExpected(usageOtherwiseNamed)
})

describe('responses are read as they should be', () => {
  readsAsExpected(openAiResponsesResponses)
})

describe('the provider’s own tools and rare classes of tokens are read as they should be', () => {
  readsAsExpected(responsesToolResponses)
  readsAsExpected(serverToolResponses)
  readsAsExpected(googleToolResponses)
  readsAsExpected(groqToolResponses)
})

describe('messages are read as they should be', () => {
  readsAsExpected(anthropicResponses)
})

describe('embeddings, rankings, images, sound, pages and batches are read as they should be', () => {
  readsAsExpected(openAiMediaResponses)
})

describe('Google’s answers are read as they should be', () => {
  readsAsExpected(googleResponses)
})

describe('Bedrock’s answers are read as they should be', () => {
  readsAsExpected(bedrockResponses)
})

describe('servers’ own formats are read as they should be', () => {
  readsAsExpected(nativeResponses)
})
