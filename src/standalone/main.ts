import { rmSync } from 'node:fs'
import { relative } from 'node:path'
import { ConfigError } from '../config/config.ts'
import { until } from '../lib/repeat.ts'
import { type DataFolder, type Holder, takeDataFolder } from './data-folder/data-folder.ts'
import { stopLeftovers } from './data-folder/leftovers.ts'
import { readSettings, type Settings } from './data-folder/settings.ts'
import { modelIds } from './own-gateway.ts'
import { keepPort, whyPortIsTaken } from './processes/free-port.ts'
import { listenForStop } from './processes/stop-signals.ts'
import { chooseExample, renderScreen } from './screen.ts'
import { createServices } from './services.ts'
import { type Supervisor, startStores, startSupervisor } from './supervisor.ts'
import { openTerminal } from './terminal.ts'

/**
 * `npm start`: everything on one machine. Gateway and worker are processes of their own, as in production.
 * PostgreSQL, Redis and the demo upstream are started where the environment names none. At a stop signal
 * everything is stopped in order.
 */

/**
 * How long another `npm start` may take to release the folder: one that stops, or one whose npm was just
 * killed.
 */
const WAIT_FOR_STOPPING_MS = 60_000
const WAIT_FOR_RUNNING_MS = 1_500

const terminal = openTerminal()
const stop = listenForStop()
process.exitCode = await run()
process.exit()

async function run(): Promise<number> {
  let folder: DataFolder | null = null
  try {
    const settings = readSettings(process.env)
    folder = await takeFolder(settings.config.dataDir)
    return await runIn(folder, settings)
  } catch (error) {
    terminal.complain(
      error instanceof ConfigError ? error.message : `tallygate cannot start: ${messageOf(error)}`,
    )
    return 1
  } finally {
    folder?.release()
  }
}

async function runIn(folder: DataFolder, settings: Settings): Promise<number> {
  folder.announce({ state: 'starting', baseUrl: null })
  rmSync(folder.file('running.json'), { force: true })
  const { registry, stopped } = await stopLeftovers(folder.file('processes.json'))
  if (stopped.length > 0) terminal.say(`stopped what a run before left behind: ${stopped.join(', ')}`)
  const isStores = process.argv.includes('--stores')
  if (!isStores) await checkPorts(settings)
  const services = createServices(folder, registry, terminal.say, stop.signal)
  stop.onSecond(() => services.forceStop())
  let supervisor: Pick<Supervisor, 'stop'> | null = null
  const options = { settings, folder, services, terminal, givenUp: stop.signal }
  try {
    if (isStores) {
      supervisor = await startStores(options)
      folder.announce({ state: 'running', baseUrl: null })
      terminal.say('PostgreSQL and Redis run, and nothing else: press Ctrl-C to stop them')
    } else {
      const whole = await startSupervisor(options)
      supervisor = whole
      folder.announce({ state: 'running', baseUrl: whole.baseUrl })
      show(whole, folder, settings)
    }
    await stop.wanted
    terminal.say('stopping: calls under way may end, press Ctrl-C again to cut them')
  } catch (error) {
    if (!stop.signal.aborted) throw error // else asked to stop while starting
  } finally {
    folder.announce({ state: 'stopping', baseUrl: null })
    await (supervisor ?? { stop: services.stopAll }).stop()
  }
  terminal.say(`stopped; everything is kept in ${shownFolder(folder)}`)
  return 0
}

/** The final screen. */
function show(supervisor: Supervisor, folder: DataFolder, settings: Settings): void {
  const { upstreams, defaultUpstream, tls } = settings.config
  const first = upstreams.find(({ name }) => name === defaultUpstream)
  const example = chooseExample(first?.provider ?? 'openai-compatible', modelIds(supervisor.models))
  const addresses = upstreams.map(({ origin, basePath }) => origin + basePath)
  const context = {
    ...supervisor,
    example: { ...example, path: `${first?.pathPrefix ?? ''}${example.path}` },
    dataDir: shownFolder(folder),
    upstream: settings.wantsDemoUpstream ? null : addresses.join(', '),
    insecure: tls !== null,
  }
  terminal.print(renderScreen(context, terminal.paint))
  if (supervisor.models?.status === 403)
    terminal.say('the demo key was switched off; another one: tallygate key create --client demo')
}

/** Locks the folder, waiting for a run that stops. */
async function takeFolder(path: string): Promise<DataFolder> {
  let isShown = false
  let holder: Holder | null = null
  const startedAtMs = performance.now()
  const taken = await until(
    () => {
      const folder = takeDataFolder(path)
      if (!('heldBy' in folder)) return folder
      holder = folder.heldBy
      if (holder?.state === 'stopping' && !isShown) {
        isShown = true
        terminal.say(`waiting for the tallygate that is stopping (process ${holder.pid})`)
      }
      const waitedMs = performance.now() - startedAtMs
      if (stop.signal.aborted || (holder?.state !== 'stopping' && waitedMs > WAIT_FOR_RUNNING_MS))
        return 'held'
      return null
    },
    { timeoutMs: WAIT_FOR_STOPPING_MS, everyMs: 100 },
  )
  if (taken !== null && taken !== 'held') return taken
  throw new Error(explainHolder(path, holder))
}

function explainHolder(path: string, holder: Holder | null): string {
  const who = holder === null ? 'another process' : `process ${holder.pid}`
  const where = holder?.baseUrl ? `, at ${holder.baseUrl}` : ''
  return `it is running already: ${who} has ${path}${where}. Stop that one first, or give this one a TALLYGATE_DATA_DIR, PORT, ADMIN_PORT and PORTAL_PORT of its own`
}

/**
 * No server beside the gateway is given one of its ports afterwards.
 *
 * @throws Error naming every port that is taken
 */
async function checkPorts({ config }: Settings): Promise<void> {
  const wanted = [
    { variable: 'PORT', host: config.host, port: config.port },
    { variable: 'ADMIN_PORT', host: config.adminHost, port: config.adminPort },
    { variable: 'PORTAL_PORT', host: config.host, port: config.portalPort ?? 0 },
  ]
  const problems: string[] = []
  for (const { variable, host, port } of wanted) {
    keepPort(port)
    const code = port === 0 ? null : await whyPortIsTaken(host, port)
    if (code === 'EADDRINUSE')
      problems.push(`port ${port} on ${host} is taken by another program: set ${variable} to another one`)
    else if (code !== null)
      problems.push(`cannot listen on port ${port} of ${host} (${code}): change ${variable} or its host`)
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

function shownFolder(folder: DataFolder): string {
  const path = relative(process.cwd(), folder.path)
  return path.startsWith('..') || path === '' ? folder.path : path
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
