import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { type Stand, type StandClient, type StandGateway, startStand } from '../../bench/stand/stand.ts'
import { addReceiver } from '../../src/alerts/receivers.ts'
import { ALERT_KINDS } from '../../src/doctor/conditions.ts'
import type { Child } from '../../src/standalone/stand/child.ts'
import { claimLastingPort } from '../../src/standalone/stand/lasting-port.ts'
import { startReceiver, type TestReceiver } from '../alerts/receiver.ts'
import { type CommandResult, type Diagnosis, runCommand, runDoctor } from './doctor.ts'
import { type FailingUpstream, startFailingUpstream } from './upstream.ts'

type Env = Readonly<Record<string, string>>

/** A deployment of real processes, whose operator has a receiver of alerts. */
export interface World {
  readonly stand: Stand
  readonly upstream: FailingUpstream
  readonly receiver: TestReceiver
  readonly gateway: StandGateway
  readonly worker: Child
  readonly clients: readonly StandClient[]
  /** The shell of an operator: what the gateway has, and `shell`. */
  readonly env: Env
  shell: Env
  /** All that clients were answered. */
  readonly answers: readonly string[]
  /** The time of the first call since `meet`; `null`: none was made yet. */
  readonly metAtMs: number | null
  /** From now on calls meet what is wrong. */
  meet(): void
  /** Makes both run with these variables, again where they run with others. */
  run(gateway: Env, worker: Env): Promise<void>
  /** Another gateway of the same deployment. */
  addGateway(program: Parameters<Stand['gateway']>[0]): Promise<StandGateway>
  /** Writes the gateways' file, with this upstream, and these lines behind it. */
  configure(url: string, lines?: string): Promise<void>
  /** Calls with the key of a client of ours, four times a second, until `stop`. */
  keepCalling(): { stop(): Promise<void> }
  /** One call; its status, 0: no answer. */
  call(options?: { readonly client?: number; readonly model?: string }): Promise<number>
  doctor(): Promise<Diagnosis>
  command(...args: readonly string[]): Promise<CommandResult>
  /** Words of `degraded`; `null`: no answer. */
  degraded(): Promise<readonly string[] | null>
  stop(): Promise<void>
}

const CALL_EVERY_MS = 250
const ANSWER_MS = 5_000
const READYZ_MS = 2_000
export const MODEL = 'gpt-4o-mini'

export async function startWorld(): Promise<World> {
  const stand = await startStand({ name: 'faults' })
  const configFile = join(stand.folder, 'tallygate.yaml')
  const upstream = await startFailingUpstream(
    await claimLastingPort(),
    `sk-operators-${randomBytes(12).toString('hex')}`,
  )
  const receiver = await startReceiver()
  await addReceiver(
    stand.pool,
    {
      url: receiver.url,
      format: 'generic',
      secret: null,
      kinds: ALERT_KINDS,
      thresholds: [100],
      client: null,
    },
    'test',
  )
  const clients = [await stand.addClient('north'), await stand.addClient('south')]
  const answers: string[] = []
  let [gatewayEnv, workerEnv]: [Env, Env] = [{}, {}]
  let started = ''
  let metAtMs: number | null = null
  let isMeeting = false
  const configEnv = () => ({ TALLYGATE_CONFIG: configFile, UPSTREAM_KEY: upstream.key })
  const scheme = () => (gatewayEnv.TLS_CERT_FILE === undefined ? 'http' : 'https')
  const gateway: StandGateway = await stand.gateway({
    name: 'gateway',
    env: () => ({ ...configEnv(), LOG_LEVEL: 'debug', ...gatewayEnv }),
    preloads: [pathToFileURL('test/faults/jumping-clock.mjs').href],
    isReady: async () => (await degraded()) !== null,
  })
  const worker = stand.worker({ name: 'worker', env: () => workerEnv })
  const others: StandGateway[] = []
  const ownEnv = (): Env => ({
    DATABASE_URL: stand.postgres.url,
    REDIS_URL: stand.redis.url,
    KEY_PEPPER: stand.pepper,
    JOURNAL_DIR: gatewayEnv.JOURNAL_DIR ?? stand.journalDir,
    TALLYGATE_DATA_DIR: stand.folder,
    ...configEnv(),
    ...(gatewayEnv.DATABASE_URL === undefined ? {} : { DATABASE_URL: gatewayEnv.DATABASE_URL }),
    ...(gatewayEnv.REDIS_PREFIX === undefined ? {} : { REDIS_PREFIX: gatewayEnv.REDIS_PREFIX }),
    ...world.shell,
  })

  function degraded(): Promise<readonly string[] | null> {
    return ask(`${scheme()}://127.0.0.1:${gateway.port}/readyz`, 'GET', {}, '', READYZ_MS).then(
      ({ body }) => Object(JSON.parse(body)).degraded ?? [],
      () => null,
    )
  }

  const world: World = {
    stand,
    upstream,
    receiver,
    gateway,
    worker,
    clients,
    answers,
    shell: {},
    get env() {
      return ownEnv()
    },
    get metAtMs() {
      return metAtMs
    },
    meet() {
      metAtMs = null
      isMeeting = true
    },
    async run(forGateway, forWorker) {
      const wanted = JSON.stringify([forGateway, forWorker, upstream.key])
      if (wanted !== started) {
        await Promise.all([gateway, worker].map((one) => (one.running ? one.stop(20_000) : null)))
        ;[gatewayEnv, workerEnv, started] = [forGateway, forWorker, wanted]
      }
      await Promise.all([gateway.start(), worker.start()])
    },
    async addGateway(program = {}) {
      const { env, ...rest } = program
      const own = typeof env === 'function' ? env : () => env ?? {}
      const added = await stand.gateway({ ...rest, env: () => ({ ...configEnv(), ...own() }) })
      others.push(added)
      return added
    },
    async configure(url, lines = '') {
      await writeFile(
        configFile,
        `upstreams:\n  - { name: main, url: '${url}', provider: openai, api_key_env: UPSTREAM_KEY }\n${lines}`,
      )
    },
    keepCalling() {
      let isOver = false
      const calls = new Set<Promise<unknown>>()
      const calling = (async () => {
        for (let number = 0; !isOver; number += 1) {
          const call = world.call({ client: number % clients.length })
          calls.add(call)
          void call.finally(() => calls.delete(call))
          await delay(CALL_EVERY_MS)
        }
      })()
      return {
        async stop() {
          isOver = true
          await calling
          await Promise.all(calls)
        },
      }
    },
    async call({ client = 0, model = MODEL } = {}) {
      if (isMeeting) metAtMs ??= performance.now()
      const headers = {
        authorization: `Bearer ${clients[client]?.key}`,
        'content-type': 'application/json',
      }
      const sent = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
      const url = `${scheme()}://127.0.0.1:${gateway.port}/v1/chat/completions`
      const answer = await ask(url, 'POST', headers, sent, ANSWER_MS).catch(() => null)
      if (answer !== null) answers.push(answer.headers + answer.body)
      return answer?.status ?? 0
    },
    doctor: () => runDoctor(ownEnv()),
    command: (...args) => runCommand(ownEnv(), ...args),
    degraded,
    async stop() {
      await stand.stop()
      await Promise.all([receiver.stop(), upstream.close()])
    },
  }
  await world.configure(upstream.url)
  return world
}

interface Answer {
  readonly status: number
  readonly headers: string
  readonly body: string
}

function ask(url: string, method: string, headers: Env, body: string, limitMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent: false, signal: AbortSignal.timeout(limitMs) } as const
    const asked = url.startsWith('https')
      ? requestTls(url, { ...options, rejectUnauthorized: false })
      : request(url, options)
    asked.on('error', reject)
    asked.on('response', async (answer) => {
      try {
        const text = (await answer.toArray()).join('')
        resolve({ status: answer.statusCode ?? 0, headers: answer.rawHeaders.join('\n'), body: text })
      } catch (error) {
        reject(error)
      }
    })
    asked.end(body)
  })
}
