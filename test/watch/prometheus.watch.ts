import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { DASHBOARDS } from '../../scripts/watch/rendered-files.ts'
import { loadWorkerConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { VERSION } from '../../src/lib/version.ts'
import { buildWorkerMetrics } from '../../src/metrics/rollup-metrics.ts'
import { listenForOperators } from '../../src/operator/worker-listener.ts'
import { startWorkers } from '../../workers/workers.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../support/upstream.ts'
import { findPrometheus, type PrometheusPrograms } from './support/programs.ts'
import { startPrometheus } from './support/prometheus.ts'

const ADMIN_TOKEN = 'token-of-the-test'
const log = createLog('silent', 'test')
const ends: (() => unknown)[] = []

let programs: PrometheusPrograms
let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let prometheusUrl: string

beforeAll(async () => {
  programs = findPrometheus()
  folder = mkdtempSync(join(tmpdir(), 'tallygate-watch-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  upstream = await startUpstream()
  ends.push(() => upstream.close())
  const env = { UPSTREAM_API_KEY: 'sk-own', METRICS_CLIENTS: '5', ADMIN_TOKEN }
  stack = await startStack(upstream.url, { workers: false, env })
  ends.push(() => stack.stop())
  const workers = startWorkers({ ...loadWorkerConfig(stack.env), log })
  ends.push(() => workers.close())
  const metrics = buildWorkerMetrics({ ...workers.view, version: VERSION })
  const listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    metrics,
    problem: workers.view.problem,
    log,
  })
  ends.push(() => listener.close())
  client = await stack.addClient('acme')
  await set({ client: 'acme', kind: 'budget', per: 'day', limit: '1000' })
  await set({ client: 'acme', kind: 'requests', limit: '3', model: 'gpt-4o' })
  const targets = { tallygate: stack.gateway.adminAddress.port, 'tallygate-worker': listener.port }
  const prometheus = await startPrometheus(folder, targets, {
    rules: [resolve('deploy/prometheus/rules.yml')],
  })
  ends.push(() => prometheus.stop())
  prometheusUrl = prometheus.url
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

async function set(limit: object): Promise<void> {
  const { port } = stack.gateway.adminAddress
  const answer = await fetch(`http://127.0.0.1:${port}/admin/v1/limits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(limit),
  })
  expect(answer.status, await answer.text()).toBe(200)
}

const vector = z.object({
  status: z.literal('success'),
  data: z.object({ result: z.array(z.unknown()) }),
})

/** How many series a query gives now. Fails where Prometheus refuses it. */
async function countSeries(expr: string): Promise<number> {
  const query = expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m')
  const answer = await fetch(`${prometheusUrl}/api/v1/query?${new URLSearchParams({ query })}`)
  const parsed = vector.safeParse(await answer.json())
  if (!parsed.success) throw new Error(`Prometheus refuses ${query}`)
  return parsed.data.data.result.length
}

async function call(model: string, key = client.key): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.arrayBuffer()
  return answer.status
}

test('promtool finds nothing wrong with the rules and with the configuration of compose', () => {
  const promtool = (...args: string[]) =>
    execFileSync(programs.promtool, args, { encoding: 'utf8', stdio: 'pipe' })
  expect(promtool('check', 'rules', 'deploy/prometheus/rules.yml')).toContain('SUCCESS')
  expect(promtool('check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yml')).toContain(
    'SUCCESS',
  )
})

test('each kind of rule fires at its threshold and not before: a gauge, a counter, a time, a gateway that is gone', () => {
  const cases = [
    ['GatewayUnreachable', 'up{job="tallygate"}', '1 1 0 0 0 0'],
    ['CountingLate', 'tallygate_ledger_oldest_uncommitted_seconds', '0 0 11 12 13 14'],
    ['UpstreamRefusesCredential', 'tallygate_upstreams_refusing_credential', '0 0 1 1 1 1'],
    ['KafkaSkipped', 'tallygate_kafka_skipped_calls_total', '5 5 9 9 9 9'],
    ['NoWorker', 'tallygate_processes{kind="worker",state="running"}', '2 1 0 0 0 0'],
    ['RecordsMissing', 'tallygate_missing_records', '0 0 3 3 3 3'],
    ['CertificateEnds', 'tallygate_certificate_expiry_seconds', '300000 300000 200000 200000 200000 200000'],
  ] as const
  const rules = resolve('deploy/prometheus/rules.yml')
  const file = join(folder, 'cases.yml')
  const tests = cases.map(([name, series, values]) => ({
    interval: '1m',
    name,
    input_series: [{ series, values }],
    alert_rule_test: [
      { eval_time: '1m', alertname: `Tallygate${name}`, exp_alerts: [] },
      { eval_time: '5m', alertname: `Tallygate${name}` },
    ],
  }))
  // What an alert says is not repeated here: that one fires is asked for by a query.
  const asked = tests.map(({ alert_rule_test: [before], ...one }, index) => ({
    ...one,
    alert_rule_test: [before],
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="Tallygate${cases[index]?.[0]}",alertstate="firing"})`,
        eval_time: '5m',
        exp_samples: [{ labels: '{}', value: 1 }],
      },
    ],
  }))
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: asked }))
  const said = execFileSync(programs.promtool, ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' })
  expect(said).toContain('SUCCESS')
})

test('each query of each panel gives data for a gateway and a worker that took calls', async () => {
  const queries = DASHBOARDS.flatMap(({ rows }) => rows)
    .flatMap((row) => row.panels)
    .flatMap(({ title, queries: asked }) => asked.map(({ expr }) => ({ title, expr })))
  // A hard budget refuses models without a price.
  const unlimited = await stack.addClient('unlimited')
  let lacking: readonly string[] = []
  await expect
    .poll(
      async () => {
        await call('gpt-4o-mini')
        await call('gpt-unknown')
        for (let again = 0; again < 5; again += 1) await call('gpt-4o')
        await call('gpt-4o-mini', 'tg_wrong')
        upstream.answer((_request, response) => json(response, 500, { error: { message: 'no' } }))
        await call('gpt-4o-mini')
        upstream.answer((_request, response) =>
          json(response, 200, {
            id: 'chatcmpl-2',
            object: 'chat.completion',
            model: 'model-without-a-price',
            choices: [],
            usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
          }),
        )
        await call('model-without-a-price', unlimited.key)
        const { chatAnswer } = await import('../support/upstream.ts')
        upstream.answer(chatAnswer)
        const found = await Promise.all(
          queries.map(async ({ title, expr }) =>
            (await countSeries(expr)) === 0 ? [`${title}: ${expr}`] : [],
          ),
        )
        lacking = found.flat()
        return lacking
      },
      { timeout: 120_000, interval: 1_000 },
    )
    .toEqual([])
})

test('an upstream that refuses our key fires its rule within seconds, and nothing else had fired', async () => {
  const firing = () => countSeries('ALERTS{alertname=~"Tallygate.*",alertstate="firing",severity="page"}')
  expect(await firing()).toBe(0)
  upstream.answer((_request, response) =>
    json(response, 401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }),
  )
  // Refused to one client while others are served, it would be that client's own fault.
  const { key } = await stack.addClient('another')
  await expect.poll(() => call('gpt-4o-mini', key)).toBe(502)
  expect(await call('gpt-4o-mini')).toBe(502)
  await expect
    .poll(
      async () => {
        await Promise.all([call('gpt-4o-mini'), call('gpt-4o-mini', key)])
        return await countSeries('ALERTS{alertname="TallygateUpstreamRefusesCredential",alertstate="firing"}')
      },
      { timeout: 30_000 },
    )
    .toBe(1)
})
