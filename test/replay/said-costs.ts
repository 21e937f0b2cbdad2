import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { saysItsCost } from '../../src/config/yaml/upstream.ts'
import type { ReplayCase } from '../support/replay/replay-cases.ts'
import { replay } from '../support/replay/replay-client.ts'
import { type ReplayUpstream, startReplayUpstream } from '../support/replay/replay-upstream.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'

/**
 * Where those providers are called that say in their answers what a call cost. Others name list prices: a call may
 * cost less.
 */
export const HOSTS: Readonly<Record<string, string>> = {
  openrouter: 'openrouter.ai',
  xai: 'api.x.ai',
  perplexity: 'api.perplexity.ai',
  'vercel-gateway': 'ai-gateway.vercel.sh',
}

/** A case whose answer says what it cost. */
export interface SaidCost {
  readonly replayed: ReplayCase
  /** US dollars. */
  readonly usd: number
}

export interface Apart {
  readonly id: string
  readonly usd: number
  /** US dollars; `null`: none. */
  readonly ours: number | null
}

/**
 * Plays answers that say their cost before a file's tests. The function that it gives finds those whose `column` of the
 * record is more than a hundredth off what the answer said, with both.
 */
export function playCosts(said: readonly SaidCost[]): (column: string) => readonly Apart[] {
  let folder: string
  let upstream: ReplayUpstream
  let stack: TestStack
  let rows: readonly (Readonly<Record<string, unknown>> | undefined)[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costs-'))
    upstream = await startReplayUpstream(said.map(({ replayed }) => replayed))
    const config = join(folder, 'upstreams.yaml')
    const providers = [...new Set(said.map(({ replayed }) => replayed.provider))]
    const entries = providers.map(
      // Believed or not as it is by default at the provider's own host, which cannot be called from here.
      (name) =>
        `  - { name: ${name}, url: '${upstream.url}', provider: ${name}, path_prefix: /at-${name}, trust_reported_cost: ${saysItsCost(HOSTS[name] ?? '')} }\n`,
    )
    await writeFile(config, `upstreams:\n${entries.join('')}`)
    stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
    const client = await stack.addClient('replayer')
    const ids: string[] = []
    for (const [number, { replayed }] of said.entries()) {
      ids.push((await replay(`${stack.url}/at-${replayed.provider}`, client.key, number, replayed)).callId)
    }
    await stack.usageOf(client, said.length)
    const byId = new Map((await stack.calls(client)).map((row) => [`${row.call_id}`, row]))
    rows = ids.map((id) => byId.get(id))
  })

  afterAll(async () => {
    await stack?.stop()
    await upstream?.close()
    await rm(folder, { recursive: true, force: true })
  })

  return (column) =>
    said.flatMap(({ replayed: { id }, usd }, index) => {
      const pico = rows[index]?.[column] ?? null
      const ours = pico === null ? null : Number(pico) / 1e12
      return ours !== null && Math.abs(ours - usd) <= usd / 100 ? [] : [{ id, usd, ours }]
    })
}
