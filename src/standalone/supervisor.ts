import { rmSync } from 'node:fs'
import { CLOSING_MS } from '../config/config.ts'
import { createClient, findClient } from '../keys/clients.ts'
import { createClientKey } from '../keys/keys.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { until } from '../lib/repeat.ts'
import { migrate } from '../store/connection/migrate.ts'
import { checkNeeds } from '../store/connection/migration-needs.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import { openRedis, type Redis } from '../store/connection/redis.ts'
import { selectStreams } from '../store/ledger/ledger-database.ts'
import {
  chooseDatabase,
  chooseRedis,
  demoConfig,
  type SupervisorOptions,
  startDemoUpstream,
} from './choose-servers.ts'
import { writeFileAtomically } from './data-folder/data-folder.ts'
import { loadSecrets, saveSecrets } from './data-folder/secrets.ts'
import { reachableHost, type Settings, shownAddress } from './data-folder/settings.ts'
import { type Answer, getFromGateway } from './own-gateway.ts'
import { findFreePort, whyPortIsTaken } from './processes/free-port.ts'
import type { Run } from './processes/supervise.ts'
import type { Services } from './services.ts'

/** The whole of tallygate on one machine, running. */
export interface Supervisor {
  readonly baseUrl: string
  readonly adminUrl: string
  /** Where the clients' page is, without its path. */
  readonly portalUrl: string
  readonly adminToken: string
  readonly demoKey: string
  /** The answer of `/v1/models` to the demo key. */
  readonly models: Answer
  /**
   * Stops in order: no new calls, running ones end, what is in the streams is counted, then everything else. Nothing is
   * lost when a step does not succeed: what is not counted is on disk, and counted after the next start.
   */
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 60_000
const BACKLOG_TIMEOUT_MS = 5_000
/** Longer than the gateway's own timeout. */
const KILL_AFTER_MS = 1_000

const DEMO_CLIENT = 'demo'

/** Creates a key of the demo client, and the client if it does not exist. Its text is known only now. */
async function createDemoKey(pool: Postgres, pepper: string): Promise<string> {
  if ((await findClient(pool, DEMO_CLIENT)) === null) await createClient(pool, DEMO_CLIENT)
  const order = { client: DEMO_CLIENT, name: 'npm start', models: null, expiresInSeconds: null }
  const made = await createClientKey(pool, order, pepper)
  if (made === null) throw new Error(`the client "${DEMO_CLIENT}" was deleted while its key was being made`)
  return made.key
}

/**
 * Starts everything in the order of its dependencies. What was started is in `services`, also when this
 * fails.
 * @throws {Error} For the user; also when `givenUp` is aborted.
 */
export async function startSupervisor(plan: SupervisorOptions): Promise<Supervisor> {
  const { settings, folder, services, givenUp } = plan
  const secretsFile = folder.file('secrets.json')
  const secrets = loadSecrets(secretsFile, settings)
  const keyPepper = settings.keyPepper ?? secrets.keyPepper
  const adminToken = settings.adminToken ?? secrets.adminToken

  const [databaseUrl, redisUrl, upstreamUrl] = await allOrFirstFailure([
    chooseDatabase(plan, secrets),
    chooseRedis(plan, secrets),
    settings.wantsDemoUpstream ? startDemoUpstream(plan) : null,
  ])
  givenUp.throwIfAborted()
  await prepareDatabase(plan, databaseUrl)
  const pool = openPostgres(databaseUrl, {
    max: 2,
    statementTimeoutMs: 10_000,
    applicationName: 'tallygate npm start',
    log: SILENT_LOG,
  })
  const newDemoKey = async () => {
    const demoKey = await createDemoKey(pool, keyPepper.split(',')[0] ?? keyPepper)
    saveSecrets(secretsFile, { ...secrets, demoKey })
    return demoKey
  }
  let demoKey = secrets.demoKey ?? (await newDemoKey())

  const { env, listensAt, baseUrl, adminUrl, portalUrl } = await chooseListeners(settings)
  const environment = {
    ...process.env,
    ...env,
    ADMIN_TOKEN: adminToken,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KEY_PEPPER: keyPepper,
    TALLYGATE_DATA_DIR: folder.path,
    ...(upstreamUrl === null ? {} : demoConfig(plan, upstreamUrl)),
  }
  givenUp.throwIfAborted()
  plan.terminal.say('starting gateway and worker')
  await allOrFirstFailure([
    services.start('gateway', (stopped) => startGateway(services, environment, listensAt, stopped)),
    services.start('worker', () => services.startNode('worker', 'workers/main.ts', environment)),
  ])

  let models = await getFromGateway(`${baseUrl}/v1/models`, demoKey)
  if (models?.status === 401) {
    demoKey = await newDemoKey() // another database or pepper than when the kept one was made
    models = await getFromGateway(`${baseUrl}/v1/models`, demoKey)
  }
  const running = {
    ...{ pid: process.pid, baseUrl, adminUrl, databaseUrl, redisUrl },
    ...{ redisPrefix: settings.config.redisPrefix, keyPepper, adminToken },
    journalDir: process.env.JOURNAL_DIR || folder.file('journal'),
  }
  const runningFile = folder.file('running.json')
  writeFileAtomically(runningFile, `${JSON.stringify(running, null, 2)}\n`)
  return {
    ...{ baseUrl, adminUrl, portalUrl, adminToken, demoKey, models },
    async stop() {
      rmSync(runningFile, { force: true })
      await services.stop('gateway', settings.config.shutdownGraceMs + CLOSING_MS + KILL_AFTER_MS)
      await countBacklog(plan, pool, redisUrl)
      await pool.end().catch(() => {})
      await services.stopAll()
    },
  }
}

/** To see whether the workers are stopped, and the disk has room. */
const NEEDS_MS = 10_000

async function prepareDatabase({ settings }: SupervisorOptions, databaseUrl: string): Promise<void> {
  try {
    const pool = openPostgres(databaseUrl, {
      max: 1,
      statementTimeoutMs: NEEDS_MS,
      applicationName: 'tallygate migrate',
      log: SILENT_LOG,
    })
    await checkNeeds(pool, { hasRoom: false }).finally(() => pool.end())
    await migrate(databaseUrl, SILENT_LOG)
  } catch (cause) {
    const where = settings.databaseUrl === null ? '' : ` at ${shownAddress(databaseUrl)} (DATABASE_URL)`
    const why = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    throw new Error(`PostgreSQL${where} could not be prepared: ${why}`, { cause })
  }
}

/**
 * Starts PostgreSQL and Redis alone, for commands such as `restore` that need the rest stopped.
 *
 * @throws {Error} For the user; also when `givenUp` is aborted.
 */
export async function startStores(plan: SupervisorOptions): Promise<{ stop(): Promise<void> }> {
  const { settings, folder, services, givenUp } = plan
  const secrets = loadSecrets(folder.file('secrets.json'), settings)
  const [databaseUrl, redisUrl] = await allOrFirstFailure([
    chooseDatabase(plan, secrets),
    chooseRedis(plan, secrets),
  ])
  givenUp.throwIfAborted()
  await prepareDatabase(plan, databaseUrl)
  const runningFile = folder.file('running.json')
  const running = {
    ...{ pid: process.pid, baseUrl: '', adminUrl: '', databaseUrl, redisUrl },
    redisPrefix: settings.config.redisPrefix,
    keyPepper: settings.keyPepper ?? secrets.keyPepper,
    journalDir: process.env.JOURNAL_DIR || folder.file('journal'),
  }
  writeFileAtomically(runningFile, `${JSON.stringify(running, null, 2)}\n`)
  // Node ends a process that waits for nothing but a signal.
  const alive = setInterval(() => {}, 60_000)
  return {
    async stop() {
      clearInterval(alive)
      rmSync(runningFile, { force: true })
      await services.stopAll()
    },
  }
}

/** The ports, chosen where any will do, and the URLs that reach them from this machine. */
async function chooseListeners({ config }: Settings) {
  const port = config.port || (await findFreePort())
  const adminPort = config.adminPort || (await findFreePort())
  const portalPort = config.portalPort || (await choosePortalPort(config))
  const host = `${config.tls === null ? 'http' : 'https'}://${reachableHost(config.host)}`
  const listensAt = `${host}:${port}`
  return {
    env: {
      HOST: config.host,
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      PORTAL_PORT: String(portalPort),
    },
    listensAt,
    baseUrl: `${listensAt}${config.basePath}`,
    adminUrl: `http://${reachableHost(config.adminHost)}:${adminPort}`,
    portalUrl: `${host}:${portalPort}`,
  }
}

const STANDARD_PORT = 8080
const STANDARD_PORTAL_PORT = 8082

/** The clients' page must not keep the rest from starting: where its port is taken, or others are not the usual ones, any
 * will do. */
async function choosePortalPort({ host, port, portalPort }: Settings['config']): Promise<number> {
  const isUsual = portalPort === null && port === STANDARD_PORT
  if (isUsual && (await whyPortIsTaken(host, STANDARD_PORTAL_PORT)) === null) return STANDARD_PORTAL_PORT
  return await findFreePort()
}

/** A gateway is ready once it accepts calls. */
async function startGateway(
  services: Services,
  env: NodeJS.ProcessEnv,
  listensAt: string,
  givenUp: AbortSignal,
): Promise<Run> {
  const gateway = await services.startNode('gateway', 'src/gateway/server.ts', env)
  const answer = await until(
    async () => {
      if (givenUp.aborted) return 'given up'
      if (!gateway.running) return 'ended'
      return (await getFromGateway(`${listensAt}/readyz`))?.status === 200 ? 'ready' : null
    },
    { timeoutMs: READY_TIMEOUT_MS },
  )
  if (answer === 'ready') return gateway
  await gateway.stop(1_000)
  givenUp.throwIfAborted()
  const log = services.logFile('gateway')
  throw new Error(`the gateway did not get ready, its log is ${log}:\n${gateway.lastWords(15)}`)
}

async function countBacklog(plan: SupervisorOptions, pool: Postgres, redisUrl: string): Promise<void> {
  const { services, terminal } = plan
  if (!services.has('worker')) return
  const options = {
    name: 'tallygate npm start',
    whenAway: 'fail',
    silenceMs: 2_000,
    log: SILENT_LOG,
  } as const
  const redis = openRedis(redisUrl, options)
  const left = await waitForBacklog(pool, redis, () => services.isForced)
  redis.disconnect()
  if (left !== 0) terminal.say('some calls will be counted after the next start')
}

/** Waits for all, also when one fails, so that nothing is still starting when the failure is handled. */
async function allOrFirstFailure<const T extends readonly unknown[]>(
  tasks: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  await Promise.allSettled(tasks)
  return await Promise.all(tasks)
}

/**
 * Waits until the workers have counted everything that is in the streams, for at most `BACKLOG_TIMEOUT_MS`. What is left then is
 * counted after the next start.
 *
 * @returns how many entries are left; null where that could not be learnt
 */
async function waitForBacklog(pool: Postgres, redis: Redis, isForced: () => boolean): Promise<number | null> {
  let left: number | null = null
  const count = async () => {
    const streams = await selectStreams(pool)
    const lengths = await Promise.all(streams.map((stream) => redis.xlen(stream)))
    return lengths.reduce((sum, length) => sum + length, 0)
  }
  await until(
    async () => {
      left = await count().catch(() => null)
      return left === 0 || isForced() ? true : null
    },
    { timeoutMs: BACKLOG_TIMEOUT_MS, everyMs: 50 },
  )
  return left
}
