import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { makeTemplate } from './database.ts'
import { checkHost } from './preflight.ts'
import { startPrivatePostgres, startPrivateRedis } from './servers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL, to make databases with; tests use `createTestDatabase`. */
    readonly databaseUrl: string
    /**
     * A Redis shared by all tests: each file uses keys of its own prefix only, and never a flush; see
     * `testRedisPrefix`.
     */
    readonly redisUrl: string
    /** Name of the migrated database that test databases are copies of. */
    readonly databaseTemplate: string
  }
}

interface Server {
  readonly url: string
  stop(): Promise<void>
}

/**
 * One PostgreSQL and one Redis for the run: those that TEST_DATABASE_URL and TEST_REDIS_URL name, else containers where
 * a Docker engine answers, else private local ones. What was started here ends with the run, also with a kill -9 of it.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await checkHost()
  const [postgres, redis] = await Promise.all([choosePostgres(), chooseRedis()])
  const template = await makeTemplate(postgres.url)
  project.provide('databaseUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  project.provide('databaseTemplate', template.name)
  return async () => {
    await template.drop()
    await Promise.all([postgres.stop(), redis.stop()])
  }
}

async function choosePostgres(): Promise<Server> {
  const given = givenServer('TEST_DATABASE_URL')
  if (given !== null) return given
  const container = await inContainer(async () => {
    const { PostgreSqlContainer } = await import('@testcontainers/postgresql')
    const started = await new PostgreSqlContainer('postgres:18').start()
    return { url: started.getConnectionUri(), stop: async () => void (await started.stop()) }
  })
  return container ?? (await startPrivatePostgres())
}

async function chooseRedis(): Promise<Server> {
  const given = givenServer('TEST_REDIS_URL')
  if (given !== null) return given
  const container = await inContainer(async () => {
    const { GenericContainer } = await import('testcontainers')
    const started = await new GenericContainer('redis:7')
      .withCommand(['redis-server', '--maxmemory-policy', 'noeviction'])
      .withExposedPorts(6379)
      .start()
    const url = `redis://${started.getHost()}:${started.getMappedPort(6379)}`
    return { url, stop: async () => void (await started.stop()) }
  })
  return container ?? (await startPrivateRedis())
}

function givenServer(variable: string): Server | null {
  const url = process.env[variable]
  return url === undefined || url === '' ? null : { url, stop: async () => {} }
}

/** Null where no engine can be meant to be there: the library is loaded only where one is. */
async function inContainer(start: () => Promise<Server>): Promise<Server | null> {
  const sockets = ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock')]
  if (process.env.DOCKER_HOST === undefined && !sockets.some((socket) => existsSync(socket))) return null
  try {
    return await start()
  } catch (error) {
    console.error(`containers do not work, taking local servers: ${error}`)
    return null
  }
}
