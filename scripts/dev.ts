import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findServers } from '../src/cli/find-servers.ts'
import { readVariable } from '../src/config/environment.ts'
import { Failure } from '../src/operations/failure.ts'

/**
 * `npm run dev`: the gateway of this checkout, started again at each change of a file that it imports. It works on the
 * servers that DATABASE_URL, REDIS_URL and KEY_PEPPER name, else on those of a running `npm start`.
 *
 *     npm run dev                  the gateway, at http://127.0.0.1:8090
 *     npm run dev -- worker        a worker
 *     npm run dev -- --inspect     Node's own options go before the program
 *
 * A change ends the process with SIGKILL. SIGTERM drains it first, which takes 6 s where a client keeps its connection,
 * and nothing is lost either way: the next run adopts the journal.
 */
const PROGRAMS = { gateway: 'src/gateway/server.ts', worker: 'workers/main.ts' } as const

/** Beside the gateway of `npm start`, which has 8080 and 8081. */
const OWN_ADDRESS = { HOST: '127.0.0.1', PORT: '8090', ADMIN_PORT: '8091', LOG_LEVEL: 'debug' }

function serversOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const servers = findServers(env)
  return {
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl ?? '',
    REDIS_PREFIX: servers.redisPrefix,
    KEY_PEPPER: servers.keyPeppers.join(','),
    JOURNAL_DIR: servers.journalDir,
  }
}

/** The demo upstream of `npm start`, where no other is named. */
function upstreamOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const demo = join(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', 'demo.yaml')
  return env.UPSTREAM_URL || env.TALLYGATE_CONFIG || !existsSync(demo) ? {} : { TALLYGATE_CONFIG: demo }
}

function environment(): NodeJS.ProcessEnv {
  const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
  return { ...OWN_ADDRESS, ...serversOf(process.env), ...upstreamOf(process.env), ...given }
}

function start(): void {
  const args = process.argv.slice(2)
  const script = PROGRAMS[args.includes('worker') ? 'worker' : 'gateway']
  const watch = ['--watch', '--watch-preserve-output', '--watch-kill-signal=SIGKILL']
  const options = [...watch, ...args.filter((arg) => arg.startsWith('-')), script]
  const program = spawn(process.execPath, options, { env: environment(), stdio: 'inherit' })
  let stopped = false
  program.on('exit', (code) => {
    process.exitCode = stopped ? 0 : (code ?? 1)
  })
  // A terminal signals the whole group, so this process only waits; another sender reaches this process alone.
  process.on('SIGINT', () => {
    stopped = true
  })
  process.on('SIGTERM', () => program.kill('SIGTERM'))
}

try {
  start()
} catch (error) {
  if (!(error instanceof Failure)) throw error
  console.error(
    `${error.message}\nRun npm start in another terminal, or set DATABASE_URL, REDIS_URL and KEY_PEPPER.`,
  )
  process.exitCode = 1
}
