import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import { parsedJson } from '../domain/json.ts'
import { Failure } from '../operations/failure.ts'

/** The addresses and secrets of the servers that a command works on. */
export interface ServerLocations {
  readonly databaseUrl: string
  /** A replica for reports; `null`: none. */
  readonly databaseReadUrl: string | null
  /** `null`: not configured. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** The peppers of keys at rest, the one in use first; empty: not configured. */
  readonly keyPeppers: readonly string[]
  readonly journalDir: string
  /** The operator's listener of a running `npm start`; `null`: unknown. */
  readonly adminUrl: string | null
}

/** The file that a running `npm start` writes for commands. */
const runningShape = z.object({
  pid: z.int().positive(),
  databaseUrl: z.string(),
  redisUrl: z.string(),
  redisPrefix: z.string(),
  keyPepper: z.string(),
  journalDir: z.string(),
  adminUrl: z.string(),
  adminToken: z.string().optional(),
})

/**
 * Reads the environment; without DATABASE_URL, the file of a running `npm start`. One that runs on the same
 * database fills in what the environment leaves out.
 * @throws {Failure} When neither names a database.
 */
export function findServers(env: Environment): ServerLocations {
  const found = findServersOrNull(env)
  if (found !== null) return found
  throw new Failure(`DATABASE_URL is not set, and no npm start is running here (by ${runningFile(env)})`)
}

/** The same; `null`: neither names a database. */
export function findServersOrNull(env: Environment): ServerLocations | null {
  const running = findRunning(env)
  const databaseUrl = readVariable(env, 'DATABASE_URL') ?? running?.databaseUrl
  if (databaseUrl === undefined) return null
  const same = running?.databaseUrl === databaseUrl ? running : null
  const dataDir = readVariable(env, 'TALLYGATE_DATA_DIR') ?? ''
  return {
    databaseUrl,
    databaseReadUrl: readVariable(env, 'DATABASE_READ_URL'),
    redisUrl: readVariable(env, 'REDIS_URL') ?? same?.redisUrl ?? null,
    redisPrefix: (env.REDIS_PREFIX || same?.redisPrefix) ?? readVariable(env, 'REDIS_PREFIX') ?? '',
    keyPeppers: splitPeppers(readVariable(env, 'KEY_PEPPER') ?? same?.keyPepper ?? ''),
    journalDir: readVariable(env, 'JOURNAL_DIR') ?? same?.journalDir ?? join(dataDir, 'journal'),
    adminUrl: same?.adminUrl || null,
  }
}

function runningFile(env: Environment): string {
  return join(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', 'running.json')
}

/** What a running `npm start` wrote; `null`: none runs. */
export function findRunning(env: Environment): z.output<typeof runningShape> | null {
  let text: string
  try {
    text = readFileSync(runningFile(env), 'utf8')
  } catch {
    return null
  }
  const parsed = runningShape.safeParse(parsedJson(text))
  return parsed.success && isAlive(parsed.data.pid) ? parsed.data : null
}

/** A file left behind by a killed run names servers that are gone, or servers of another run. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function splitPeppers(text: string): readonly string[] {
  return text
    .split(',')
    .map((pepper) => pepper.trim())
    .filter((pepper) => pepper !== '')
}
