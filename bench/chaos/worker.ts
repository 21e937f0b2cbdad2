import closeWithGrace from 'close-with-grace'
import { loadWorkerConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { startWorkers } from '../../workers/workers.ts'

/**
 * `workers/main.ts` but for its patience: a gap that is not filled is given up after the milliseconds of the first
 * argument instead of ten minutes.
 */
const config = loadWorkerConfig(process.env)
const workers = startWorkers({
  ...config,
  log: createLog(config.logLevel, 'worker'),
  gapPatienceMs: Number(process.argv[2]),
})
closeWithGrace({ delay: config.shutdownGraceMs, logger: false }, () => workers.close())
