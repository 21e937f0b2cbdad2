import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { type Router, type Routers, startRouters } from './routers.ts'

/** A router behind the gateway. */
export interface Target {
  readonly name: string
  readonly prefix: string
  readonly router: Router
}

export interface Fixture {
  readonly stack: TestStack
  /** The four, each as a provider that is at home on it. */
  readonly own: readonly Target[]
  /** The same servers, their answers read as Gemini's. */
  readonly gemini: readonly Target[]
  /** The four as a provider of whose paths nothing is known. */
  readonly compatible: readonly Target[]
  /** The four where Starlette knows no WebSockets. */
  readonly handshakes: readonly Target[]
  stop(): Promise<void>
}

/** What an answer with 1000 input and 500 output tokens costs at the prices below, in pico-USD. */
export const RIGHT_COST = '2000000000'

/**
 * One gateway in front of all routers, on a real PostgreSQL and Redis.
 *
 * @param defaultUpstream The prefix, without its slash, of the upstream for calls without a prefix.
 */
export async function startFixture(defaultUpstream = 'st'): Promise<Fixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-routers-config-'))
  const routers = await startRouters()
  const placed = place(routers)
  const file = join(folder, 'tallygate.yaml')
  await writeFile(file, configuration(placed, defaultUpstream))
  const stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  const of = (group: Placed['group']) => placed.filter((target) => target.group === group)
  return {
    stack,
    own: of('own'),
    gemini: of('gemini'),
    compatible: of('compatible'),
    handshakes: [...of('own').filter(({ name }) => !/Starlette|nginx/.test(name)), ...of('plain')],
    async stop() {
      await stack.stop()
      await routers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Placed extends Target {
  readonly group: 'own' | 'gemini' | 'compatible' | 'plain'
  readonly provider: string
}

function place(routers: Routers): readonly Placed[] {
  const at = (group: Placed['group'], prefix: string, provider: string, router: Router) => ({
    group,
    name: router.name,
    prefix,
    provider,
    router,
  })
  return [
    at('own', '/st', 'vllm', routers.starlette),
    at('own', '/ex', 'lmstudio', routers.express),
    at('own', '/gosrv', 'ollama', routers.go),
    at('own', '/ngx', 'openai-compatible', routers.nginx),
    at('own', '/uri', 'openai-compatible', routers.uriNginx),
    at('gemini', '/gemini-st', 'gemini', routers.starlette),
    at('gemini', '/gemini-ex', 'gemini', routers.express),
    at('gemini', '/gemini-go', 'gemini', routers.go),
    at('gemini', '/gemini-ngx', 'gemini', routers.nginx),
    at('gemini', '/gemini-uri', 'gemini', routers.uriNginx),
    at('compatible', '/any-st', 'openai-compatible', routers.starlette),
    at('compatible', '/any-ex', 'openai-compatible', routers.express),
    at('compatible', '/any-go', 'openai-compatible', routers.go),
    at('compatible', '/any-ngx', 'openai-compatible', routers.nginx),
    at('compatible', '/any-uri', 'openai-compatible', routers.uriNginx),
    at('plain', '/plain-st', 'vllm', routers.plainStarlette),
    at('plain', '/plain-ngx', 'openai-compatible', routers.plainNginx),
  ]
}

function configuration(placed: readonly Placed[], defaultUpstream: string): string {
  const upstreams = placed.map(
    ({ prefix, provider, router }) =>
      `  - { name: '${prefix.slice(1)}', url: '${router.url}', provider: ${provider}, path_prefix: ${prefix} }`,
  )
  return `upstreams:
${upstreams.join('\n')}
default_upstream: '${defaultUpstream}'
prices:
  - { model: '*', input: '1', output: '2' }
`
}
