import { expect, test } from 'vitest'
import type { Observation } from '../../../src/call/observation.ts'
import { NOTHING_OBSERVED } from '../../../src/call/observation.ts'
import { BILLED_UNITS, countsBy, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../../../src/call/usage.ts'
import {
  decodeUsageSnapshot,
  encodeUsageSnapshot,
  type UsageSnapshot,
} from '../../../src/gateway/recording/snapshot-saver.ts'

const NULLS =
  '"usage":{"inputTokens":null,"outputTokens":null,"cacheReadTokens":null,"cacheWriteTokens":null,' +
  '"cacheWrite5mTokens":null,"cacheWrite1hTokens":null,"reasoningTokens":null,"audioInputTokens":null,' +
  '"audioOutputTokens":null,"imageInputTokens":null,"imageOutputTokens":null,"cacheReadAudioTokens":null,' +
  '"cacheWrite12hTokens":null,"cacheReadImageTokens":null,"videoInputTokens":null},' +
  '"units":{"webSearches":null,"searchUnits":null,"images":null,"audioMs":null,"characters":null,' +
  '"pages":null,"annotatedPages":null,"fileSearches":null,"codeRuns":null,"xSearches":null,' +
  '"mapSearches":null,"webFetches":null,"otherToolCalls":null,"videoMs":null,"citationTokens":null,' +
  '"trainedTokens":null}'

const FULL: Observation = {
  usageSource: 'partial',
  usage: countsBy(TOKEN_CLASSES, (name) => TOKEN_CLASSES.indexOf(name)),
  units: countsBy(BILLED_UNITS, (name) => 2 ** 40 - BILLED_UNITS.indexOf(name)),
  model: 'modèle "a"',
  raw: '{"prompt_tokens":1}',
  failed: true,
  responseId: 'resp_1',
  answerId: 'msg_1',
  pending: true,
  totalMismatch: true,
  reportedCostPico: 10n ** 37n,
  serviceTier: 'flex',
  parts: [
    { model: 'b', usage: NO_USAGE, mayBe: ['c'] },
    { model: null, usage: NO_USAGE, units: NO_UNITS, isBeside: true, isUnread: true },
  ],
  madeAtMs: 1_760_000_000_000,
  largestPrompt: 7,
}

const SNAPSHOT: UsageSnapshot = {
  observation: NOTHING_OBSERVED,
  status: 200,
  clientName: null,
  responseUse: 'created',
}

test('a snapshot is written with the bytes that earlier releases write', () => {
  expect(encodeUsageSnapshot(SNAPSHOT)).toBe(
    `{"usageSource":"none",${NULLS},"model":null,"raw":null,"failed":false,"responseId":null,"pending":false,` +
      '"totalMismatch":false,"serviceTier":null,"parts":null,"reportedCostPico":null,"status":200,' +
      '"clientName":null,"responseUse":"created"}',
  )
})

test('what a later price needs is read back as it was', () => {
  const text = encodeUsageSnapshot({
    observation: FULL,
    status: 207,
    clientName: 'é',
    responseUse: 'fetched',
  })
  expect(decodeUsageSnapshot(text)).toEqual({
    observation: { ...FULL, totalMismatch: false },
    status: 207,
    clientName: 'é',
    responseUse: 'fetched',
  })
})

test.each([
  null,
  0,
  undefined,
])('a longest prompt of %j is read back as it was: prices by prompt length depend on it', (largestPrompt) => {
  const text = encodeUsageSnapshot({ ...SNAPSHOT, observation: { ...NOTHING_OBSERVED, largestPrompt } })
  expect(decodeUsageSnapshot(text)?.observation.largestPrompt).toBe(largestPrompt)
})

test.each([
  'a',
  [],
  [{ model: 'a', usage: {} }, { usage: {} }],
  [{ model: 'a', usage: 1 }],
  [null],
])('the parts %j are not read: some of them would look like all', (parts) => {
  const text = JSON.stringify({ usageSource: 'partial', usage: {}, units: {}, parts })
  expect(decodeUsageSnapshot(text)?.observation.parts).toBeNull()
})

test('a snapshot of an earlier release, without counts that came later, is read', () => {
  const text =
    '{"usageSource":"partial","usage":{"inputTokens":3},"units":{"images":"1"},"model":"a","raw":7}'
  expect(decodeUsageSnapshot(text)).toEqual({
    observation: {
      ...NOTHING_OBSERVED,
      usageSource: 'partial',
      usage: { ...NO_USAGE, inputTokens: 3 },
      units: NO_UNITS,
      model: 'a',
      madeAtMs: null,
    },
    status: 200,
    clientName: null,
    responseUse: 'created',
  })
})

test.each([
  'not JSON',
  'null',
  '[]',
  '{"usageSource":"none","usage":{}}',
  '{"usageSource":"guessed","usage":{},"units":{}}',
])('%s is not read as a snapshot', (text) => {
  expect(decodeUsageSnapshot(text)).toBeNull()
})

test.each(['-1', '1.5', '', '1'.repeat(39), 5])('the reported cost %j is not read', (reportedCostPico) => {
  const text = JSON.stringify({ usageSource: 'none', usage: {}, units: {}, reportedCostPico })
  expect(decodeUsageSnapshot(text)?.observation.reportedCostPico).toBeNull()
})
