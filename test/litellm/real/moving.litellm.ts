import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { run } from '../../cli/command-line.ts'
import { createEmptyDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { PEPPER, startStack, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

/** As LiteLLM makes them. */
const KEYS = { search: 'sk-b3PzZk0mXv9QJm2rT1aLqw', blocked: 'sk-9Yt0c2Nq7UuVbS5hKfGdEA' }
const PROGRAM = fileURLToPath(new URL('./calls.py', import.meta.url))

const printed = z.object({
  tokens: z.record(z.string(), z.string()),
  spent: z.array(
    z.object({
      api_key: z.string(),
      model: z.string(),
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      spend: z.number(),
    }),
  ),
  refused: z.array(z.number().nullable()),
})

let theirs: TestDatabase
let database: Client
let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  theirs = await createEmptyDatabase()
  database = new Client({ connectionString: theirs.url })
  await database.connect()
  // The package's own migrations, in their order, as its proxy applies them. Its engine is downloaded apart from the
  // package, so rows are written by SQL.
  const folder = join(inject('installedLiteLlm'), 'litellm_proxy_extras/migrations')
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.toml') && !name.startsWith('_'))
      await database.query(readFileSync(join(folder, name, 'migration.sql'), 'utf8'))
  }
  upstream = await startUpstream()
  const usage = { prompt_tokens: 1_200, completion_tokens: 300, total_tokens: 1_500 }
  upstream.answer(({ body }, response) => {
    const asked: unknown = JSON.parse(body.toString())
    const named = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o-mini-2024-07-18' }
    if (Object(asked).stream !== true) {
      const message = { role: 'assistant', content: 'hello' }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return json(response, 200, { ...named, object: 'chat.completion', choices, usage })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = { ...named, object: 'chat.completion.chunk' }
    const choices = [{ index: 0, delta: { role: 'assistant', content: 'hello' }, finish_reason: null }]
    const end = [{ index: 0, delta: {}, finish_reason: 'stop' }]
    for (const sent of [
      { ...chunk, choices },
      { ...chunk, choices: end },
      { ...chunk, choices: [], usage },
    ])
      response.write(`data: ${JSON.stringify(sent)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  stack = await startStack(`${upstream.url}`)
})

afterAll(async () => {
  await database?.end()
  await stack?.stop()
  await upstream?.close()
  await theirs?.drop()
})

/** What LiteLLM's own SDK does, with each key as it is. */
async function call(order: { calls?: readonly unknown[]; refused?: readonly unknown[] } = {}) {
  const { stdout } = await promisify(execFile)('python3', [PROGRAM], {
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: inject('installedLiteLlm'),
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      BASE: stack.url,
      TOKENS_OF: JSON.stringify(Object.values(KEYS)),
      CALLS: JSON.stringify(order.calls ?? []),
      REFUSED: JSON.stringify(order.refused ?? []),
    },
  })
  return printed.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}

const env = () => ({ ...stack.env, KEY_PEPPER: PEPPER })

async function compare(...more: string[]) {
  const { code, out, err } = await run(
    env(),
    'compare',
    '--litellm-database',
    theirs.url,
    '--days',
    '2',
    ...more,
    '--json',
  )
  expect(err).toBe('')
  return { code, document: JSON.parse(out) as Record<string, unknown> }
}

test('keys of a LiteLLM database work unchanged, and its figures are held against ours', async () => {
  const { tokens } = await call()
  await database.query(
    `insert into "LiteLLM_TeamTable" (team_id, team_alias, models, max_budget, budget_duration)
     values ('t1', 'Search', '{gpt-4o-mini}', 100, '30d')`,
  )
  await database.query(
    `insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, team_id, models, max_budget,
       budget_duration, rpm_limit, blocked)
     values ($1, 'sk-...aLqw', 'search', 't1', '{all-team-models}', 5, '1d', 600, null),
            ($2, 'sk-...GdEA', 'blocked', 't1', '{}', null, null, null, true)`,
    [tokens[KEYS.search], tokens[KEYS.blocked]],
  )
  const imported = await run(env(), 'key', 'import', '--from', 'litellm', '--database', theirs.url, '--json')
  expect(imported.err).toBe('')
  expect(JSON.parse(imported.out)).toMatchObject({ taken: 2, left: 0, clients_made: ['Search'] })
  const again = await run(env(), 'key', 'import', '--from', 'litellm', '--database', theirs.url, '--json')
  expect(JSON.parse(again.out)).toMatchObject({ taken: 0, known: 2, left: 0 })

  // A blocked key, an unknown key, and a model that is not the team's are refused, and the rest is answered.
  const { spent, refused } = await call({
    calls: [
      [KEYS.search, 'gpt-4o-mini', false],
      [KEYS.search, 'gpt-4o-mini', true],
      [KEYS.search, 'gpt-4o-mini', false],
    ],
    refused: [
      [KEYS.blocked, 'gpt-4o-mini'],
      ['sk-AAAAAAAAAAAAAAAAAAAAAA', 'gpt-4o-mini'],
      [tokens[KEYS.search], 'gpt-4o-mini'],
      [KEYS.search, 'gpt-4o'],
    ],
  })
  expect(spent.map(({ prompt_tokens: tokensIn }) => tokensIn)).toEqual([1_200, 1_200, 1_200])
  expect(refused.slice(0, 3)).toEqual([403, 401, 401])
  expect([403, 404]).toContain(refused[3])
  expect(upstream.requests).toHaveLength(3)

  for (const [index, row] of spent.entries())
    await database.query(
      `insert into "LiteLLM_SpendLogs" (request_id, call_type, api_key, spend, total_tokens, prompt_tokens,
         completion_tokens, "startTime", "endTime", model, status)
       values ($1, 'acompletion', $2, $3, $4, $5, $6, now() at time zone 'UTC', now() at time zone 'UTC', $7, 'success')`,
      [
        `request-${index}`,
        row.api_key,
        row.spend,
        row.prompt_tokens + row.completion_tokens,
        row.prompt_tokens,
        row.completion_tokens,
        row.model,
      ],
    )
  await expect
    .poll(() => compare('--tolerance', '0'), { timeout: 20_000 })
    .toMatchObject({ code: 0, document: { same: true } })
  const { document } = await compare()
  expect(document.lines).toEqual([
    expect.objectContaining({ key: 'Search / search', model: 'gpt-4o-mini', difference: 'same' }),
  ])

  // A call that LiteLLM priced wrongly, and one that it alone knows of.
  await database.query(`update "LiteLLM_SpendLogs" set spend = spend * 2 where request_id = 'request-0'`)
  await database.query(
    `insert into "LiteLLM_SpendLogs" (request_id, call_type, api_key, spend, "startTime", "endTime", model)
     values ('other', 'acompletion', 'unknown', 1, now() at time zone 'UTC', now() at time zone 'UTC', 'gpt-4o')`,
  )
  const differing = await compare()
  expect(differing.code).toBe(1)
  expect(
    Object(differing.document)
      .lines.map((line: { difference: string }) => line.difference)
      .sort(),
  ).toEqual(['missing_here', 'price'])
})
