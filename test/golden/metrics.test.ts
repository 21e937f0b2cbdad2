import { expect, test } from 'vitest'
import { buildWorkerMetrics } from '../../src/metrics/rollup-metrics.ts'
import { startStack } from '../support/servers/stack.ts'
import { startUpstream } from '../support/upstream.ts'

/** Of Node and of the process: they are prom-client's. */
const OURS = /^tallygate_/

interface Family {
  help: string
  type: string
  readonly labels: Set<string>
}

test('every metric of a gateway that took calls: name, type, labels, meaning', async () => {
  const upstream = await startUpstream()
  const stack = await startStack(upstream.url, { workers: false, env: { METRICS_CLIENTS: '1' } })
  try {
    const { key } = await stack.addClient('acme')
    for (const model of ['gpt-4o', 'gpt-unknown', '']) {
      const answer = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
      })
      await answer.arrayBuffer()
    }
    const { port } = stack.gateway.adminAddress
    const families = new Map<string, Family>()
    await expect
      .poll(async () => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
        read(page, families)
        // These come with the first heartbeat that is read.
        return ['processes', 'heartbeat_age_seconds'].every((name) =>
          families.get(`tallygate_${name}`)?.labels.has('kind'),
        )
      })
      .toBe(true)
    await expect(textOf(families)).toMatchFileSnapshot('metrics.gateway.golden.txt')
  } finally {
    await stack.stop()
    await upstream.close()
  }
})

test('every metric of a worker: name, type, labels, meaning', async () => {
  const { render } = buildWorkerMetrics({
    sums: () => ({ counted: 0, corrupt: 0, deadLetters: 0, callsSkipped: 0, gaps: 0 }),
    lags: async () => [{ shard: 'tallygate:calls', entries: 0, oldestMs: 0 }],
    problem: async () => null,
    version: '1',
  })
  const families = new Map<string, Family>()
  read(await render(), families)
  await expect(textOf(families)).toMatchFileSnapshot('metrics.worker.golden.txt')
})

function textOf(families: ReadonlyMap<string, Family>): string {
  const lines = [...families].filter(([name]) => OURS.test(name)).sort(([a], [b]) => (a < b ? -1 : 1))
  const text = lines.map(
    ([name, { help, type, labels }]) => `${name} ${type} {${[...labels].sort().join(',')}}\n  ${help}`,
  )
  return `${text.join('\n')}\n`
}

function read(page: string, families: Map<string, Family>): void {
  for (const line of page.split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (word !== undefined) {
      const family = families.get(name) ?? { help: '', type: '', labels: new Set() }
      families.set(name, family)
      if (word === 'HELP') family.help = rest
      else family.type = rest
      continue
    }
    const [, sample = '', labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
    const family = families.get(sample) ?? families.get(sample.replace(/_(?:bucket|sum|count)$/, ''))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) family?.labels.add(label)
  }
}
