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

/** What a row runs against in one layout, apart from all others: so a row runs in all of them at once. */
export interface Lane {
  readonly controlUrl: string
  /** `null`: directly at the provider. */
  readonly stack: TestStack | null
  /** The requests that providers got since the row began, by step. */
  readonly seen: ReadonlyMap<string, readonly Asked[]>
  /** How many requests the gateway got of a step. */
  readonly atDoor: ReadonlyMap<string, number>
  /** The step that the row's program is at. */
  readonly step: () => string
  /** Begins a row: a client of its own, and counts from zero. */
  begin(provider: ProviderName): Promise<{ access: Access; client: TestClient | null }>
  close(): Promise<void>
}

/** Everything that a row runs against. */
export interface Grounds {
  /** Where programs have their homes. */
  readonly folder: string
  lane(layout: Layout): Lane
  close(): Promise<void>
}

const WRONG = `tg_${'a'.repeat(43)}`
const BUDGET_PICO = 1n
const NAMES = Object.keys(PROVIDERS) as ProviderName[]

export async function openGrounds(layouts: readonly GatewayLayout[]): Promise<Grounds> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-clients-'))
  const lanes = new Map<Layout, Lane>()
  for (const layout of ['direct', ...layouts] as const) lanes.set(layout, await openLane(layout, folder))
  return {
    folder,
    lane(layout) {
      const found = lanes.get(layout)
      if (found === undefined) throw new Error(`there is no ${layout}`)
      return found
    },
    async close() {
      await Promise.all([...lanes.values()].map((lane) => lane.close()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Runs in several layouts at once, each to its end: none of them may go on while the next row runs. */
export async function inAll<T>(
  layouts: readonly Layout[],
  run: (layout: Layout) => Promise<T>,
): Promise<ReadonlyMap<Layout, T>> {
  const found = layouts.map(async (layout) => [layout, await run(layout)] as const)
  await Promise.allSettled(found)
  return new Map(await Promise.all(found))
}

type Providers = Readonly<Record<ProviderName, RunningProvider>>

async function openLane(layout: Layout, folder: string): Promise<Lane> {
  const seen = new Map<string, Asked[]>()
  const atDoor = new Map<string, number>()
  let step = ''
  const take = (asked: Asked) => void seen.set(step, [...(seen.get(step) ?? []), asked])
  const providers = Object.fromEntries(
    await Promise.all(
      NAMES.map(async (name) => [name, await startProvider(name, PROVIDERS[name].family, take)] as const),
    ),
  ) as Providers
  const control = createServer((request, response) => {
    const path = (request.url ?? '/').slice(1)
    if (path !== 'page' && path !== 'favicon.ico') step = path
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>a page</title>')
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  const controlUrl = `http://127.0.0.1:${(control.address() as AddressInfo).port}`
  const stack = layout === 'direct' ? null : await startGateway(layout, folder, providers, controlUrl)
  const spent = stack === null ? null : await spentClient(stack, layout === 'root' ? '' : '/openai')

  const onRequest = (message: unknown) => {
    const { server, request } = message as { server: Server; request: IncomingMessage }
    const address = server.address()
    if (typeof address !== 'object' || address?.port !== stack?.gateway.address.port) return
    if (request.method !== 'OPTIONS') atDoor.set(step, (atDoor.get(step) ?? 0) + 1)
  }
  subscribe('http.server.request.start', onRequest)

  return {
    controlUrl,
    stack,
    seen,
    atDoor,
    step: () => step,
    async begin(provider) {
      seen.clear()
      atDoor.clear()
      step = ''
      if (stack === null || spent === null)
        return { access: directAccess(provider, providers[provider].url), client: null }
      const client = await stack.addClient(`row-${crypto.randomUUID()}`)
      const base = layout === 'root' ? stack.url : `${stack.url}/${provider}`
      return { access: { layout, base, ...(await credentialsOf(provider, stack, client, spent)) }, client }
    },
    async close() {
      unsubscribe('http.server.request.start', onRequest)
      await stack?.stop()
      await Promise.all(NAMES.map((name) => providers[name].close()))
      control.closeAllConnections()
      await new Promise((resolve) => control.close(resolve))
    },
  }
}

async function startGateway(
  layout: GatewayLayout,
  folder: string,
  providers: Providers,
  controlUrl: string,
): Promise<TestStack> {
  const file = join(folder, `${layout}.yaml`)
  const entries = NAMES.map((name) => {
    const models = PROVIDERS[name].models.map((one) => `'${one}'`).join(', ')
    const place = layout === 'root' ? `models: [${models}]` : `path_prefix: /${name}`
    return `  - { name: ${name}, url: '${providers[name].url}', provider: ${name}, api_key_env: K_${name}, ${place} }\n`
  })
  const costs = layout === 'costs' ? `cost_in_answers: ['*']\n` : ''
  await writeFile(file, `${costs}upstreams:\n${entries.join('')}${OWN_PRICES}`)
  const keys = Object.fromEntries(NAMES.map((name) => [`K_${name}`, keysOf(name).gateway]))
  return await startStack('', {
    env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, CORS_ORIGINS: controlUrl, ...keys },
  })
}

function directAccess(provider: ProviderName, base: string): Access {
  const { direct: key, spent } = keysOf(provider)
  const wrong = 'sk-wrong'
  return { layout: 'direct', base, key, spent, wrong, secret: 'any', spentSecret: 'any' }
}

/** What a client has of a gateway: keys, or where its library signs, ids and secrets. */
async function credentialsOf(
  provider: ProviderName,
  stack: TestStack,
  client: TestClient,
  spent: TestClient,
): Promise<Omit<Access, 'layout' | 'base'>> {
  if (provider !== 'bedrock')
    return { key: client.key, spent: spent.key, wrong: WRONG, secret: '', spentSecret: '' }
  const [secret, spentSecret] = await Promise.all([secretOf(stack, client), secretOf(stack, spent)])
  return { key: client.keyId, spent: spent.keyId, wrong: 'key_unknown', secret, spentSecret }
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
