import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { renderFiles } from './rendered-files.ts'

/** Writes the rules for Prometheus, the dashboards of Grafana, and their lists in the documentation: `npm run rules`. */
for (const [file, text] of renderFiles()) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
