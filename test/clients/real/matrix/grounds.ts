import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeSigningSecret } from '../../../../src/keys/signing-secrets.ts'
import { setLimits } from '../../../../src/limits/table/change-limits.ts'
import { PEPPER, startStack, type TestClient, type TestStack } from '../../../support/servers/stack.ts'
import { type Asked, keysOf, type RunningProvider, startProvider } from './fakes/provider.ts'
import { OWN_PRICES, PROVIDERS, type ProviderName } from './rows.ts'
import type { Access } from './run-row.ts'

/**
 * `direct`: at the provider; `prefix`: through a gateway, under the provider's path; `root`: the model decides; `costs`:
 * as `prefix`, with the cost in answers.
 */
export type Layout = 'direct' | 'prefix' | 'root' | 'costs'
export type GatewayLayout = Exclude<Layout, 'direct'>

/** Everything that a row runs against. */
export interface Grounds {
  readonly controlUrl: string
  /** Where programs have their homes. */
  readonly folder: string
  readonly stacks: ReadonlyMap<Layout, TestStack>
  /** The requests that providers got since the row began, by step. */
  readonly seen: Map<string, Asked[]>
  /** How many requests the gateway got of a step. */
  readonly atDoor: Map<string, number>
  /** The step that the row's program is at. */
  readonly step: () => string
  /** Begins a row: a client of its own, and counts from zero. */
  begin(provider: ProviderName, layout: Layout): Promise<{ access: Access; client: TestClient | null }>
  close(): Promise<void>
}

const WRONG = `tg_${'a'.repeat(43)}`
const BUDGET_PICO = 1n

export async function openGrounds(layouts: readonly GatewayLayout[]): Promise<Grounds> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-clients-'))
  const seen = new Map<string, Asked[]>()
  const atDoor = new Map<string, number>()
  let step = ''
  const names = Object.keys(PROVIDERS) as ProviderName[]
  const providers = new Map<ProviderName, RunningProvider>()
  for (const name of names) {
    const take = (asked: Asked) => void seen.set(step, [...(seen.get(step) ?? []), asked])
    providers.set(name, await startProvider(name, PROVIDERS[name].family, take))
  }
  const control = createServer((request, response) => {
    const path = (request.url ?? '/').slice(1)
    if (path !== 'page' && path !== 'favicon.ico') step = path
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>a page</title>')
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  const controlUrl = `http://127.0.0.1:${(control.address() as AddressInfo).port}`

  const start = async (layout: GatewayLayout): Promise<TestStack> => {
    const file = join(folder, `${layout}.yaml`)
    const entries = names.map((name) => {
      const models = PROVIDERS[name].models.map((one) => `'${one}'`).join(', ')
      const place = layout === 'root' ? `models: [${models}]` : `path_prefix: /${name}`
      return `  - { name: ${name}, url: '${providers.get(name)?.url}', provider: ${name}, api_key_env: K_${name}, ${place} }\n`
    })
    const costs = layout === 'costs' ? `cost_in_answers: ['*']\n` : ''
    await writeFile(file, `${costs}upstreams:\n${entries.join('')}${OWN_PRICES}`)
    const keys = Object.fromEntries(names.map((name) => [`K_${name}`, keysOf(name).gateway]))
    return await startStack('', {
      env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, CORS_ORIGINS: controlUrl, ...keys },
    })
  }
  const stacks = new Map<Layout, TestStack>()
  const spent = new Map<Layout, TestClient>()
  for (const layout of layouts) {
    const stack = await start(layout)
    stacks.set(layout, stack)
    spent.set(layout, await spentClient(stack, layout === 'root' ? '' : '/openai'))
  }

  const ports = new Set([...stacks.values()].map(({ gateway }) => gateway.address.port))
  const onRequest = (message: unknown) => {
    const { server, request } = message as { server: Server; request: IncomingMessage }
    const address = server.address()
    if (typeof address !== 'object' || address === null || !ports.has(address.port)) return
    if (request.method !== 'OPTIONS') atDoor.set(step, (atDoor.get(step) ?? 0) + 1)
  }
  subscribe('http.server.request.start', onRequest)

  return {
    controlUrl,
    folder,
    stacks,
    seen,
    atDoor,
    step: () => step,
    async begin(provider, layout) {
      seen.clear()
      atDoor.clear()
      step = ''
      const keys = keysOf(provider)
      if (layout === 'direct') {
        const base = providers.get(provider)?.url ?? ''
        const access = {
          layout,
          base,
          key: keys.direct,
          spent: keys.spent,
          secret: 'any',
          spentSecret: 'any',
        }
        return { access: { ...access, wrong: 'sk-wrong' }, client: null }
      }
      const stack = stacks.get(layout)
      const whoSpent = spent.get(layout)
      if (stack === undefined || whoSpent === undefined) throw new Error(`there is no ${layout}`)
      const client = await stack.addClient(`row-${crypto.randomUUID()}`)
      const base = layout === 'root' ? stack.url : `${stack.url}/${provider}`
      if (provider !== 'bedrock') {
        const access = {
          layout,
          base,
          key: client.key,
          spent: whoSpent.key,
          secret: '',
          spentSecret: '',
        }
        return { access: { ...access, wrong: WRONG }, client }
      }
      const [secret, spentSecret] = await Promise.all([secretOf(stack, client), secretOf(stack, whoSpent)])
      const access = { layout, base, key: client.keyId, spent: whoSpent.keyId, secret, spentSecret }
      return { access: { ...access, wrong: 'key_unknown' }, client }
    },
    async close() {
      unsubscribe('http.server.request.start', onRequest)
      await Promise.all([...stacks.values()].map((stack) => stack.stop()))
      await Promise.all([...providers.values()].map((provider) => provider.close()))
      control.closeAllConnections()
      await new Promise((resolve) => control.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function secretOf(stack: TestStack, client: TestClient): Promise<string> {
  const made = await makeSigningSecret(stack.pool, client.keyId, PEPPER)
  if (typeof made === 'string') throw new Error(made)
  return made.secretAccessKey
}

/** A client whose budget is spent. */
async function spentClient(stack: TestStack, prefix: string): Promise<TestClient> {
  const client = await stack.addClient('spent')
  const scope = { clientId: client.id, keyId: null, model: null }
  await setLimits(
    stack.pool,
    scope,
    [{ kind: 'budget', per: 'month', isSoft: false, amount: BUDGET_PICO }],
    'a test',
  )
  for (let tries = 0; tries < 400; tries += 1) {
    const answer = await fetch(`${stack.url}${prefix}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
    if (answer.status === 429) return client
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the budget is not spent')
}
