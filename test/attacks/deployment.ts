import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, openSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { stopWithMe } from '../../src/standalone/stand/stop-with-me.ts'
import { startPrivatePostgres } from '../support/servers/servers.ts'
import type { Provider } from './provider.ts'

const run = promisify(execFile)
const READY_WITHIN_MS = 120_000

/** Gateways and a worker of a checkout, as its scripts start them, before a provider of ours. */
export interface Deployment {
  readonly urls: readonly string[]
  readonly pool: pg.Pool
  /** Of the operator's listener of the first gateway. */
  admin(path: string, body: object): Promise<Record<string, unknown>>
  stop(): Promise<void>
}

export interface DeploymentOptions {
  /** Its folder, with its packages installed. */
  readonly checkout: string
  readonly provider: Provider
  readonly redisUrl: string
  readonly gateways: number
}

/** Upstreams by the names of their providers, each below its own prefix, but for the first. */
const yamlOf = ({ urls }: Provider, hasRoutes: boolean) =>
  [
    ...(hasRoutes ? ROUTES : []),
    'upstreams:',
    ...(hasRoutes ? routed(urls.get('openai') ?? '') : []),
    ...[...urls].map(([name, url]) => {
      const prefix = name === 'openai' ? '' : `, path_prefix: /${name}`
      return `  - { name: ${name}, url: '${url}', provider: ${name}, api_key_env: PROVIDER_KEY${prefix} }`
    }),
    'default_upstream: openai',
    'prices:',
    "  - { model: qwen-vl, provider: vllm, input: '1', output: '1' }",
    "  - { model: go-model, provider: openai-compatible, input: '1', output: '10' }",
    '',
  ].join('\n')

/** What came after the findings. */
const ROUTES = [
  'routes:',
  '  - model: routed',
  '    to: [{ upstream: slow, model: gpt-4.1 }, { upstream: openai, model: gpt-4.1 }]',
  '    first_byte_timeout: 1s',
  '    order: listed',
]
const routed = (url: string) => [
  `  - { name: slow, url: '${url}/slow', provider: openai, path_prefix: /slow, api_key_env: PROVIDER_KEY }`,
]

export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { checkout, provider, redisUrl } = options
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-attacks-'))
  const end = stopWithMe(folder)
  const postgres = await startPrivatePostgres()
  const config = join(folder, 'tallygate.yaml')
  await writeFile(config, yamlOf(provider, existsSync(join(checkout, 'src/config/yaml/routes.ts'))))
  const { scripts } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
  const token = randomBytes(24).toString('hex')
  const env = {
    PATH: `${join(checkout, 'node_modules/.bin')}:${process.env.PATH}`,
    NODE_ENV: 'production',
    TALLYGATE_CONFIG: config,
    TALLYGATE_DATA_DIR: folder,
    DATABASE_URL: postgres.url,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `attacks-${randomBytes(4).toString('hex')}:`,
    KEY_PEPPER: randomBytes(16).toString('hex'),
    ADMIN_TOKEN: token,
    PROVIDER_KEY: 'sk-of-the-operator',
    PRICES_REFRESH: 'off',
    LOG_LEVEL: 'warn',
    HOST: '127.0.0.1',
  }
  /** As `npm run NAME` would, without npm between: each script ends in an `exec`. */
  const start = (name: 'gateway' | 'worker', label: string, more: Readonly<Record<string, string>> = {}) => {
    const log = openSync(join(folder, `${label}.log`), 'a')
    const child = spawn('/bin/sh', ['-c', String(scripts[name])], {
      cwd: checkout,
      env: { ...env, JOURNAL_DIR: join(folder, `journal-${label}`), ...more },
      stdio: ['ignore', log, log],
    })
    end.add(child.pid ?? 0)
    return child
  }
  await run('/bin/sh', ['-c', String(scripts.migrate)], { cwd: checkout, env })
  const children: ChildProcess[] = []
  const urls: string[] = []
  let adminUrl = ''
  for (let at = 0; at < options.gateways; at += 1) {
    const [port, adminPort] = [await findFreePort(), await findFreePort()]
    const ports = { PORT: `${port}`, ADMIN_PORT: `${adminPort}` }
    const gateway = start('gateway', `gateway-${at}`, ports)
    children.push(gateway)
    const url = `http://127.0.0.1:${port}`
    await untilReady(url, gateway, join(folder, `gateway-${at}.log`))
    urls.push(url)
    if (at === 0) adminUrl = `http://127.0.0.1:${adminPort}`
  }
  children.push(start('worker', 'worker'))
  const pool = new pg.Pool({ connectionString: postgres.url, max: 4 })
  pool.on('error', () => {})
  return {
    urls,
    pool,
    async admin(path, body) {
      const answer = await fetch(`${adminUrl}/admin/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const document = Object(await answer.json()) as Record<string, unknown>
      if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(document)}`)
      return document
    },
    async stop() {
      await pool.end()
      for (const child of children) child.kill('SIGKILL')
      await postgres.stop()
      await end.now()
    },
  }
}

async function untilReady(url: string, child: ChildProcess, log: string): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null || performance.now() > until)
      throw new Error(`a gateway did not get ready:\n${await readFile(log, 'utf8')}`)
    await delay(50)
  }
}
