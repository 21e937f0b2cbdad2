import closeWithGrace from 'close-with-grace'
import { ConfigError, type GatewayConfig, loadGatewayConfig } from './config.ts'
import { createLog } from './log.ts'
import { NO_METRICS } from './no-metrics.ts'
import { runGateway } from './run-gateway.ts'

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
const gateway = await runGateway(config, log, NO_METRICS)
closeWithGrace({ delay: config.shutdownGraceMs + 10_000, logger: log }, async ({ signal, err }) => {
  if (err) log.error({ err }, 'the gateway ends because of an error')
  else log.info({ signal }, 'the gateway ends')
  await gateway.stop()
})
log.info({ ...gateway.address }, 'the gateway takes calls')
