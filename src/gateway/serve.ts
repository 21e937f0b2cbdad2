import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import closeWithGrace from 'close-with-grace'
import { CLOSING_MS, ConfigError, type GatewayConfig, loadGatewayConfig } from '../config/config.ts'
import { releaseMemoryWhenIdle } from '../lib/idle-memory.ts'
import { createLog } from '../lib/log.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { explainStart } from './explain-start.ts'
import { type RunningGateway, runGateway } from './run-gateway.ts'
import { reportStarted, startProcesses } from './server-processes.ts'

function loadConfig(): GatewayConfig {
  try {
    return loadGatewayConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

const config = loadConfig()
const log = createLog(config.logLevel, 'gateway')

async function start(): Promise<Pick<RunningGateway, 'drain' | 'stop'>> {
  if (cluster.isPrimary && config.gatewayProcesses > 1) {
    const processes = startProcesses(config.gatewayProcesses, config.shutdownGraceMs + CLOSING_MS, log)
    return { drain: async () => {}, stop: () => processes.stop() } // each of them takes its own leave
  }
  // From now on: otherwise a signal that comes while the gateway starts would end it.
  let reload = () => {
    reloadWanted = true
  }
  let reloadWanted = false
  process.on('SIGHUP', () => reload())
  const gateway = await runGateway(config, log)
  reload = () => void reloadInto(gateway)
  gateway.onReloadAsked(() => reloadInto(gateway))
  if (reloadWanted) reload()
  log.info(
    { event: 'gateway.started', clients: gateway.address, operator: gateway.adminAddress },
    'the gateway takes calls',
  )
  reportStarted()
  // Now, as a process that is killed keeps nothing.
  flushCompileCache()
  releaseMemoryWhenIdle(() => gateway.activity())
  return gateway
}

/** Gives why the configuration cannot be read; `null`: it was. */
function reloadInto(gateway: RunningGateway): string | null {
  try {
    gateway.reload(loadGatewayConfig(process.env))
    return null
  } catch (err) {
    // Half of a new configuration is worse than all of the old one.
    if (err instanceof ConfigError)
      log.error(
        { event: 'config.reload_failed', problems: err.problems },
        'the configuration could not be reloaded; the former one stays in force',
      )
    else
      log.error(
        { event: 'config.reload_failed', err },
        'the configuration could not be reloaded; the former one stays in force',
      )
    return err instanceof ConfigError ? err.problems.join('; ') : reasonOf(err)
  }
}

const running = await start().catch((error: unknown) => {
  const why = explainStart(error, config)
  if (why === null) log.fatal({ event: 'gateway.start_failed', err: error }, 'the gateway could not start')
  else log.fatal({ event: 'gateway.start_failed' }, `the gateway could not start: ${why}`)
  process.exit(1)
})
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const
const shutdown = closeWithGrace(
  {
    delay: config.shutdownGraceMs + CLOSING_MS,
    logger: log,
    // SIGHUP does not end the process: it reloads the configuration.
    skip: ['SIGHUP', ...(cluster.isWorker ? STOP_SIGNALS : [])],
  },
  async ({ signal, err }) => {
    if (err) log.error({ event: 'gateway.crashed', err }, 'the gateway ends because of an error')
    else {
      log.info({ event: 'gateway.stopping', signal }, 'the gateway ends')
      await running.drain()
    }
    await running.stop()
  },
)

// A terminal or systemd signals all processes of the group, and then the process that started these signals
// them, too. So a second signal must not force the end. An operator who cannot wait signals that process
// twice, and it ends these.
if (cluster.isWorker) {
  let shuttingDown = false
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (!shuttingDown) void shutdown.close()
      shuttingDown = true
    })
  }
}
