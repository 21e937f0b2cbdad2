import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { event, startUpstream, type TestUpstream, type UpstreamHandler } from '../../support/upstream.ts'

/** Tokens that every answer reports. */
export const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
/** What an answer costs at each target, pico-USD: 11 and 7 tokens at the prices of {@link startTargets}. */
export const COST = { alpha: 25_000_000n, beta: 250_000_000n, gamma: 2_500_000_000n } as const

export type TargetName = keyof typeof COST

/** Three upstreams behind one name, `smart`, in this order, and a gateway before them. */
export interface Targets {
  readonly stack: TestStack
  readonly upstreams: Readonly<Record<TargetName, TestUpstream>>
  /** Of the configuration file, so that a gateway of its own may read it. */
  readonly file: string
  post(
    client: TestClient,
    body: object | string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>
  /** The models that each upstream was asked for, since the last call of this. */
  asked(): Readonly<Partial<Record<TargetName, readonly string[]>>>
  stop(): Promise<void>
}

export const serves: UpstreamHandler = (request, response) => {
  const { model, stream } = JSON.parse(request.body.toString())
  if (stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ id: 'x', model, choices: [{ message: { content: 'Hello' } }], usage: USAGE }),
    )
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ model, choices: [{ index: 0, delta: { content: 'Hello' } }] }))
  response.write(event({ model, choices: [], usage: USAGE }))
  response.end('data: [DONE]\n\n')
}
export const dies: UpstreamHandler = (_request, response) => {
  response.socket?.resetAndDestroy()
}
export const hangs: UpstreamHandler = () => {}
export const lies: UpstreamHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(event({ error: { type: 'overloaded_error', message: 'Overloaded' } }))
}
export function says(status: number, headers: Readonly<Record<string, string>> = {}): UpstreamHandler {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end('{"error":{"message":"no"}}')
  }
}

/** @param routes Lines of YAML behind the route `smart`. */
export async function startTargets(routes: readonly string[] = []): Promise<Targets> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-routes-'))
  const [alpha, beta, gamma] = await Promise.all([
    startUpstream(serves),
    startUpstream(serves),
    startUpstream(serves),
  ])
  const upstreams = { alpha, beta, gamma }
  const file = join(folder, 'tallygate.yaml')
  const lines = [
    'upstreams:',
    ...Object.entries(upstreams).map(
      ([name, { url }]) => `  - { name: ${name}, url: '${url}', provider: openai, models: false }`,
    ),
    "  - { name: claude, url: 'http://127.0.0.1:9', provider: anthropic, models: false }",
    'default_upstream: gamma',
    'routes:',
    '  - model: smart',
    '    to: [{ upstream: alpha, model: m-alpha }, { upstream: beta, model: m-beta }, { upstream: gamma, model: m-gamma }]',
    '    retry: { attempts: 3 }',
    '    first_byte_timeout: 1s',
    '    order: listed',
    ...routes,
    'prices:',
    "  - { model: m-alpha, input: '1', output: '2' }",
    "  - { model: m-beta, input: '10', output: '20' }",
    "  - { model: m-gamma, input: '100', output: '200' }",
  ]
  await writeFile(file, lines.join('\n'))
  const stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  return {
    stack,
    upstreams,
    file,
    post(client, body, headers = {}) {
      return fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
    },
    asked() {
      const found: Partial<Record<TargetName, string[]>> = {}
      for (const name of ['alpha', 'beta', 'gamma'] as const) {
        const { requests } = upstreams[name]
        if (requests.length > 0) found[name] = requests.map(({ body }) => JSON.parse(body.toString()).model)
        requests.length = 0
      }
      return found
    },
    async stop() {
      await stack.stop()
      await Promise.all([alpha, beta, gamma].map((upstream) => upstream.close()))
      await rm(folder, { recursive: true })
    },
  }
}
