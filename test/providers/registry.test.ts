import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { providerOfHost } from '../../src/config/yaml/upstream.ts'
import { foldName } from '../../src/gateway/bodies/scanned-values.ts'
import { credentialHeader, forwardableRequestHeaders } from '../../src/gateway/proxy/headers/headers.ts'
import { catalogPlaces } from '../../src/pricing/catalog/catalog-providers.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'
import type { Dialect, OutputBound } from '../../src/providers/dialect.ts'
import { ANSWER_COUNTS, type AnswerCounts, endpoint } from '../../src/providers/dialect.ts'
import { genericUsage } from '../../src/providers/generic-usage.ts'
import { deferredWork } from '../../src/providers/reading.ts'
import { endpointsOf, entryOf, PROVIDERS, selectDialect } from '../../src/providers/registry.ts'

const HOSTED = PROVIDERS.flatMap((provider) => {
  const entry = entryOf(provider)
  return entry.catalog === null ? [] : [{ provider, ...entry }]
})

describe.each(PROVIDERS)('the entry of %s', (provider) => {
  const { hosts, credential, catalog } = entryOf(provider)

  test('has hosts that no other entry claims', () => {
    expect(hosts.filter((host) => !/^(?:\*\.)?[a-z0-9*-]+(?:\.[a-z0-9*-]+)+$/.test(host))).toEqual([])
    expect(hosts.filter((host) => providerOfHost(host.replaceAll('*', 'some')) !== provider)).toEqual([])
  })

  test("names a credential header that never carries a client's own value upstream", () => {
    const { name, prefix } = credential
    expect(name).toMatch(/^[a-z][a-z0-9-]*$/)
    expect(prefix).toMatch(/^(?:[A-Za-z]+ )?$/)
    expect(credentialHeader(provider, 'ours')).toEqual([name, `${prefix}ours`])
    const sent = forwardableRequestHeaders([name, 'tg_theirs'], {
      host: 'upstream',
      credential: credentialHeader(provider, 'ours'),
      askIdentity: false,
      contentLength: null,
    })
    expect(sent.join(' ')).not.toContain('theirs')
  })

  test('looks prices up in lists that it names, and that the bundled catalog has', () => {
    const lists = [...(catalog?.lists ?? []), ...(catalog?.otherLists ?? [])]
    expect(lists.length > 0).toBe(hosts.length > 0)
    for (const list of catalog?.lists ?? []) expect([...bundledEntries().providers.keys()]).toContain(list)
    for (const { providerId } of catalogPlaces(provider, 'model')) expect(lists).toContain(providerId)
  })
})

test('docs/prices.md says in which lists the models of each provider are looked up', () => {
  const page = readFileSync('docs/prices.md', 'utf8')
  const [, lists = ''] = page.split('The lists in which the models of a provider are looked up:')
  const [, listed = ''] = lists.split('\n\n')
  expect(PROVIDERS.filter((provider) => !listed.includes(`\`${provider}\``))).toEqual([])
})

test('no two makers have a prefix in common', () => {
  const prefixes = HOSTED.flatMap(({ catalog }) => catalog.makerPrefixes ?? [])
  expect(prefixes.length).toBeGreaterThan(5)
  expect(new Set(prefixes).size).toBe(prefixes.length)
})

test('every entry that a file declares is listed, and every file of entries has one', () => {
  const registry = readFileSync('src/providers/registry.ts', 'utf8')
  const folders = ['makers', 'clouds', 'hosts', 'own-servers'].flatMap((folder) =>
    readdirSync(`src/providers/${folder}`).map((name) => `${folder}/${name}`),
  )
  const files = [...folders.filter((name) => name.endsWith('.ts')), 'plain-entries.ts']
  const entries = files.flatMap((file) =>
    [
      ...readFileSync(`src/providers/${file}`, 'utf8').matchAll(
        /^export const \w+: (?:HostedProvider|OwnServer) /gm,
      ),
    ].map(() => file),
  )
  expect(files.filter((file) => !entries.includes(file) || !registry.includes(`'./${file}'`))).toEqual([])
  expect(entries).toHaveLength(PROVIDERS.length)
})

/** What estimates and requests hang on. Each was once a pattern over the name, so renaming a dialect changed it. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  isChat: [
    'anthropic.messages',
    'bedrock.converse',
    'bedrock.invoke',
    'cohere.chat',
    'gemini.generate-content',
    'gemini.interactions',
    'lmstudio.chat',
    'ollama.chat',
    'openai.chat-completions',
    'openai.responses',
    'tgi.generate',
    'tgi.vertex',
    'vertex.anthropic-messages',
    'vertex.mistral-chat',
    'vertex.partner-chat',
  ],
  generatesNothing: [
    'alibaba.embeddings',
    'cohere.embed',
    'cohere.rerank',
    'gemini.embed-content',
    'ollama.embed',
    'openai.embeddings',
    'openai.rerank',
    'vertex.predict',
    'vertex.images',
    'voyage.embeddings',
  ],
  knowsStreamOptions: ['openai.chat-completions', 'openai.completions'],
  hidesReasoningInSessions: ['openai.responses'],
  runningUsageHasThoughts: ['gemini.generate-content'],
}

/** Answers of these report no tokens, and are not billed by other units that the call itself names. */
const NO_TOKENS = [
  'anthropic.batch-results',
  'cohere.rerank',
  'gemini.batch',
  'openai.audio-transcriptions',
  'openai.batch',
  'openai.moderations',
  'openai.rerank',
  'perplexity.async-chat',
]

const dialects = PROVIDERS.flatMap((provider) => endpointsOf(provider).map(({ dialect }) => dialect))

function namesWhere(holds: (dialect: Dialect) => boolean): string[] {
  return [...new Set(dialects.filter(holds).map(({ name }) => name))].sort()
}

test.each(Object.entries(FLAGS))('%s holds for the dialects that it always held for', (flag, names) => {
  const holders = namesWhere((dialect) => flagsOf(dialect)[flag] === true)
  expect(names.filter((name) => !holders.includes(name))).toEqual([])
  const known = new Set(Object.values(FLAGS).flat())
  expect(holders.filter((name) => known.has(name) && !names.includes(name))).toEqual([])
})

test('a missing count is filled in only where a tokenizer could count it', () => {
  const holders = namesWhere(({ countsTokens, billsUnits }) => countsTokens === false && billsUnits !== true)
  expect(NO_TOKENS.filter((name) => !holders.includes(name))).toEqual([])
  expect(namesWhere(({ countsTokens, billsUnits }) => billsUnits === true && countsTokens !== false)).toEqual(
    [],
  )
})

test('an unnamed model is counted as those of the interface are', () => {
  const wrong = dialects.filter(
    ({ name, tokenizerFamily = 'openai' }) =>
      (tokenizerFamily === 'vertex' ? 'gemini' : tokenizerFamily) !==
      (/^(?:vertex\.)?anthropic/.test(name) ? 'claude' : name.startsWith('gemini.') ? 'gemini' : 'openai'),
  )
  expect(wrong.map(({ name }) => name)).toEqual([])
})

/** Where a bound is read decides what a call reserves. */
const BOUNDS: Readonly<Record<OutputBound, readonly string[]>> = {
  max_output_tokens: ['openai.responses'],
  settings: [
    'alibaba.generation',
    'bedrock.converse',
    'gemini.generate-content',
    'gemini.interactions',
    'ollama.chat',
    'tgi.generate',
    'vllm.generate',
  ],
  settings_or_root: ['bedrock.invoke'],
  root_raised_by_settings: ['sagemaker.invocations'],
  unknown: ['tgi.vertex'],
}

test('an answer’s bound is looked for where its servers do', () => {
  for (const [place, names] of Object.entries(BOUNDS))
    expect(namesWhere(({ outputBound }) => outputBound === place)).toEqual(names)
  expect([genericUsage.outputBound, deferredWork.outputBound]).toEqual(['unknown', 'unknown'])
})

/** What multiplies their answers decides what a call reserves. */
const MULTIPLIED: Readonly<Record<keyof typeof ANSWER_COUNTS, readonly string[]>> = {
  chat: ['openai.chat-completions', 'vertex.mistral-chat', 'vertex.partner-chat', 'vllm.generate'],
  completions: ['openai.completions'],
  invocations: ['sagemaker.invocations'],
  llamaCpp: ['llamacpp.completion'],
  tgi: ['tgi.generate'],
  tgiVertex: ['tgi.vertex'],
  gemini: ['gemini.generate-content', 'gemini.interactions'],
  alibaba: ['alibaba.generation'],
  cloudflareRun: ['cloudflare.run'],
  bedrockInvoke: ['bedrock.invoke'],
  bedrockImages: ['bedrock.images'],
  openAiImages: ['openai.images'],
  imagen: ['vertex.images'],
  veo: ['google.videos'],
  azureVideos: ['azure.video-jobs'],
  cohereGenerate: ['cohere.generate'],
  rankings: [
    ...['bedrock.rerank', 'bedrock.rerank-invoke', 'cohere.rerank', 'openai.rerank'],
    ...['vertex.ranking', 'voyage.rerank'],
  ],
}

/** One request, one answer, by the references of their providers, or nothing that is generated. */
const ONE_ANSWER = [
  ...['anthropic.complete', 'anthropic.messages', 'vertex.anthropic-messages'],
  ...['bedrock.converse', 'cohere.chat', 'lmstudio.chat', 'ollama.chat', 'openai.responses'],
  // Sessions reserve more as they go on.
  ...['gemini.live', 'openai.realtime'],
  // Films and speech by their own length.
  ...[
    'bedrock.async-invoke',
    'openai.videos',
    'xai.videos',
    'openai.audio-speech',
    'elevenlabs.audio-speech',
    'xai.speech',
  ],
  ...['openai.audio-transcriptions', 'xai.transcriptions', 'fireworks.workflows', 'mistral.ocr'],
  // Nothing is generated: all that they are billed for is in the request.
  ...[
    'alibaba.embeddings',
    'cohere.embed',
    'gemini.embed-content',
    'ollama.embed',
    'openai.embeddings',
    'voyage.embeddings',
  ],
  ...['vertex.predict', 'gemini.cached-contents', 'openai.containers', 'openai.vector-store-search'],
  ...['perplexity.search', 'bedrock.guardrail', 'mcp.tools', 'mistral.classifiers'],
  ...['bedrock.picture-embeddings', 'vertex.multimodal-embeddings'],
  // What they begin is not known here, and reserves as a job does.
  ...['perplexity.async-chat', 'zai.queue', 'passes-by'],
]

test('of every metered endpoint it is said what multiplies its answer, or that nothing does', () => {
  for (const [row, names] of Object.entries(MULTIPLIED)) {
    const counts = ANSWER_COUNTS[row as keyof typeof ANSWER_COUNTS]
    expect(namesWhere(({ answers }) => answers === counts)).toEqual(names)
  }
  const metered = namesWhere(({ responseUse, isFree }) => responseUse !== 'fetched' && isFree !== true)
  const said = [...Object.values(MULTIPLIED).flat(), ...ONE_ANSWER]
  expect(metered.filter((name) => !said.includes(name))).toEqual([])
  expect(said.filter((name) => !metered.includes(name))).toEqual([])
  expect(namesWhere(({ name, answers }) => answers !== undefined && ONE_ANSWER.includes(name))).toEqual([])
})

test('what multiplies an answer is written as requests are compared with it', () => {
  const rows: readonly AnswerCounts[] = Object.values(ANSWER_COUNTS)
  const names = rows.flatMap(({ numbers = [], arrays = [] }) => [...numbers, ...arrays])
  expect(names.filter((name) => name !== foldName(name))).toEqual([])
})

test('pictures, speech and recordings are three media', () => {
  const pictures = ['bedrock.images', 'openai.images', 'vertex.images']
  expect(namesWhere(({ medium }) => medium === 'pictures')).toEqual(pictures)
  expect(namesWhere(({ medium }) => medium === 'speech')).toEqual(['openai.audio-speech'])
  expect(namesWhere(({ medium }) => medium === 'recordings')).toEqual([
    'openai.audio-transcriptions',
    'xai.transcriptions',
  ])
})

test('nothing is chosen by the name of a dialect', () => {
  const files = ['src', 'workers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  )
  const choosing = files.filter((file) => /\bdialect(?:Name|\??\.name)\b/.test(readFileSync(file, 'utf8')))
  expect(choosing).toEqual([])
})

function flagsOf(dialect: Dialect): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(dialect).filter(([, value]) => typeof value !== 'function'))
}

test('no pattern of a path tries all the rest from each place: a client writes 4 KB of it', () => {
  const dialect = selectDialect('openai', 'POST', '/v1/chat/completions')
  if (dialect === null) throw new Error('chat has no dialect')
  for (const pattern of [/\/model\/.*nova.*\/invoke$/, /\/model\/.+$/])
    expect(() => endpoint('POST', pattern, dialect)).toThrow('takes too long')
  expect(endpoint('POST', /\/model\/[^/]+$/, dialect).matches('/Model/a', '/model/a')).toBe(true)
})

test.each([
  ['/model/a/converse', 'bedrock.converse'],
  ['/x/model/arn:aws:bedrock:eu-west-1:1:inference-profile/eu.a/converse-stream', 'bedrock.converse'],
  ['/model/amazon.nova-canvas-v1:0/invoke', 'bedrock.images'],
  ['/model/arn:aws:bedrock:us-west-2::foundation-model/stability.sd3/Invoke', 'bedrock.images'],
  ['/model/amazon.titan-embed-image-v1/invoke', 'bedrock.picture-embeddings'],
  ['/model/cohere.rerank-v3-5:0/invoke', 'bedrock.rerank-invoke'],
  ['/model/amazon.nova-canvas-v1:0/invoke-with-response-stream', 'bedrock.invoke'],
  ['/model/a/invoke', 'bedrock.invoke'],
  ['/model//invoke', null],
  ['/model/invoke', null],
  ['/guardrail/g/version/1/apply', 'bedrock.guardrail'],
])('the dialect of %s is %s', (path, name) => {
  expect(selectDialect('bedrock', 'POST', path)?.name ?? null).toBe(name)
})
