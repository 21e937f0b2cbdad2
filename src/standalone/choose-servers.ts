import type { DataFolder } from './data-folder/data-folder.ts'
import { writeFileAtomically } from './data-folder/data-folder.ts'
import type { Secrets } from './data-folder/secrets.ts'
import type { Settings } from './data-folder/settings.ts'
import { shownAddress } from './data-folder/settings.ts'
import { findFreePort } from './processes/free-port.ts'
import { startPostgres } from './servers/postgres.ts'
import { startRedis } from './servers/redis.ts'
import { findRedisProgram } from './servers/redis-program.ts'
import type { Services } from './services.ts'
import type { Terminal } from './terminal.ts'

export async function chooseDatabase(
  { settings, folder, services, terminal }: SupervisorOptions,
  secrets: Secrets,
) {
  const { databaseUrl } = settings
  if (databaseUrl !== null) {
    terminal.say(`using the PostgreSQL of DATABASE_URL at ${shownAddress(databaseUrl)}`)
    return databaseUrl
  }
  return await services.startServer('postgres', (port) =>
    startPostgres({
      folder: folder.folder('postgres'),
      password: secrets.postgresPassword,
      durable: true,
      say: terminal.say,
      onFirstStart: () => terminal.say('making a private PostgreSQL (first start only)'),
      ...port,
    }),
  )
}

export async function chooseRedis(
  { settings, folder, services, terminal }: SupervisorOptions,
  secrets: Secrets,
) {
  const { redisUrl } = settings
  if (redisUrl !== null) {
    terminal.say(`using the Redis of REDIS_URL at ${shownAddress(redisUrl)}`)
    return redisUrl
  }
  const program = await findRedisProgram(terminal)
  terminal.say(`starting a private ${program.name}`)
  return await services.startServer('redis', (port) =>
    startRedis({
      folder: folder.folder('redis'),
      password: secrets.redisPassword,
      durable: true,
      program,
      ...port,
    }),
  )
}

export async function startDemoUpstream({ services }: SupervisorOptions): Promise<string> {
  const port = await findFreePort()
  const args = ['--host', '127.0.0.1', '--port', String(port)]
  const script = 'src/standalone/demo-upstream.ts'
  await services.start('demo upstream', () => services.startNode('demo upstream', script, process.env, args))
  return `http://127.0.0.1:${port}`
}

/** The demo upstream imitates providers, whose prices apply to its calls: a loopback address has none. */
export function demoConfig({ settings, folder }: SupervisorOptions, url: string): Record<string, string> {
  const file = folder.file('demo.yaml')
  const provider = settings.config.upstreams[0]?.provider ?? 'openai-compatible'
  const upstream = { name: 'default', url, provider, prices_of: 'makers' }
  writeFileAtomically(file, `${JSON.stringify({ upstreams: [upstream] })}\n`)
  return { TALLYGATE_CONFIG: file, UPSTREAM_URL: '' }
}

/** The options of a start. */
export interface SupervisorOptions {
  readonly settings: Settings
  readonly folder: DataFolder
  readonly services: Services
  readonly terminal: Terminal
  /** Ends the start. */
  readonly givenUp: AbortSignal
}
