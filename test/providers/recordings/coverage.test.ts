import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import { endpointsOf, PROVIDERS } from '../../../src/providers/registry.ts'
import { madeResponses } from '../../fixtures/made-responses.ts'
import { madeSessions } from '../../fixtures/sessions.ts'
import { dialectOf } from './dialect-of.ts'
import { readWhole } from './judge.ts'

// What the gateway says that it reads has a made answer each. A list of what is missing has to be empty.

const dialects = new Map<string, Dialect>(
  PROVIDERS.flatMap((provider) =>
    endpointsOf(provider).map(({ dialect }) => [dialect.name, dialect] as const),
  ),
)
const answers = madeResponses.map((made) => ({
  ...made,
  dialect: dialectOf(made.provider, made.method ?? 'POST', made.path)?.name,
}))
const sessions = madeSessions.map((made) => ({
  ...made,
  dialect: dialectOf(made.provider, 'GET', made.path)?.name,
}))
const expectations = [...answers, ...sessions].map(({ expected }) => expected)

test('each dialect has a made answer', () => {
  const made = new Set(answers.map(({ dialect }) => dialect))
  const missing = [...dialects.values()].filter(({ name, isFree }) => isFree !== true && !made.has(name))
  expect(dialects.size).toBeGreaterThan(50)
  expect(
    missing.map(({ name }) => name).filter((name) => !sessions.some(({ dialect }) => dialect === name)),
  ).toEqual([])
})

test('each dialect of sessions has a made session', () => {
  const made = new Set(sessions.map(({ dialect }) => dialect))
  const missing = [...dialects.values()].filter(
    ({ name, createMessageReader }) => createMessageReader !== undefined && !made.has(name),
  )
  expect(missing.map(({ name }) => name)).toEqual([])
})

test('each provider has a made answer', () => {
  const made = new Set([...answers, ...sessions].map(({ provider }) => provider))
  expect(PROVIDERS.filter((provider) => !made.has(provider))).toEqual([])
})

test('each class of tokens and each unit is in a made answer', () => {
  const tokens = Object.keys(NO_USAGE) as (keyof typeof NO_USAGE)[]
  const units = Object.keys(NO_UNITS) as (keyof typeof NO_UNITS)[]
  const isUsed = (count: number | null | undefined) => (count ?? 0) > 0
  expect(tokens.filter((name) => !expectations.some(({ usage }) => isUsed(usage?.[name])))).toEqual([])
  expect(units.filter((name) => !expectations.some(({ units: made }) => isUsed(made?.[name])))).toEqual([])
})

test('each format that is streamed has made answers that are streamed', () => {
  const streamed = new Set(
    answers
      .filter(({ headers }) => /event-stream|ndjson/.test(`${headers?.['content-type']}`))
      .map(({ dialect }) => dialect),
  )
  const lacking = [...dialects.values()].filter(
    ({ takesIncludeUsage, name }) => takesIncludeUsage && !streamed.has(name),
  )
  expect(lacking.map(({ name }) => name)).toEqual([])
})

test.each(
  [...dialects.values()].map((dialect) => [dialect.name, dialect] as const),
)('%s reads an error as an answer that used nothing', (id, dialect) => {
  const body = Buffer.from('{"error":{"message":"made","type":"server_error","code":"500"}}')
  const head = { status: 500, headers: { 'content-type': 'application/json' } }
  const request = { method: 'POST', path: '/', model: 'made', stream: null }
  const { usageSource, usage, units } = readWhole({ id, dialect, request, head, body })
  expect({ usageSource, usage, units }).toEqual({ usageSource: 'none', usage: NO_USAGE, units: NO_UNITS })
})
