import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { findPrometheus } from './programs.ts'

export interface TestPrometheus {
  readonly url: string
  stop(): Promise<void>
}

/** A Prometheus that scrapes jobs on ports of this host each second, and keeps what it finds in `folder`. */
export async function startPrometheus(
  folder: string,
  targets: Readonly<Record<string, number>>,
  {
    rules = [],
    options = [],
  }: { readonly rules?: readonly string[]; readonly options?: readonly string[] } = {},
): Promise<TestPrometheus> {
  const port = await findFreePort()
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: rules,
    scrape_configs: Object.entries(targets).map(([job_name, at]) => ({
      job_name,
      static_configs: [{ targets: [`127.0.0.1:${at}`] }],
    })),
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn(
    findPrometheus().prometheus,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
      ...options,
    ],
    { stdio: 'ignore' },
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  await vi.waitFor(async () => expect((await fetch(`${url}/-/ready`)).status).toBe(200))
  return {
    url,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
