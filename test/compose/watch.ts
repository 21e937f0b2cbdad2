import { deepEqual, equal, ok } from 'node:assert/strict'
import { DASHBOARDS } from '../../scripts/watch/rendered-files.ts'
import { untilPatiently } from '../support/patience.ts'
import { type ComposeStack, readRights } from './stack.ts'

const PROFILE = ['--profile', 'watch']
const SCRAPED_WITHIN_MS = 60_000

/**
 * What `docker compose --profile watch up` brings: Prometheus reaches every gateway and worker of the stack by the names
 * of its network, has our rules, none of which pages, and understands each query of each panel. Grafana has the panels.
 */
export async function checkWatch(stack: ComposeStack): Promise<void> {
  const { compose } = stack
  const config = JSON.parse(await compose(...PROFILE, 'config', '--format', 'json'))
  const services = { prometheus: checkPrometheus, grafana: checkGrafana }
  for (const [service, check] of Object.entries(services)) {
    const { image } = config.services[service]
    if (!(await canHave(stack, image))) {
      console.log(`NOT TRIED: ${service}, as its image ${image} cannot be had here`)
      continue
    }
    try {
      await compose(...PROFILE, 'up', '--no-build', '--wait', '--no-deps', service)
      const container = await compose(...PROFILE, 'ps', '--quiet', service)
      const { readOnly, capabilitiesDropped, effectiveCapabilities } = await readRights(stack, container)
      deepEqual([readOnly, capabilitiesDropped], [true, ['ALL']])
      ok(effectiveCapabilities === null || /^0+$/.test(effectiveCapabilities))
      await check(stack)
    } finally {
      await compose(...PROFILE, 'rm', '--force', '--stop', service)
    }
  }
}

async function canHave({ docker }: ComposeStack, image: string): Promise<boolean> {
  const has = (...args: readonly string[]) =>
    docker(...args).then(
      () => true,
      () => false,
    )
  return (await has('image', 'inspect', image)) || (await has('pull', '--quiet', image))
}

async function checkPrometheus(stack: ComposeStack): Promise<void> {
  const { containers } = stack
  const wanted = {
    tallygate: (await containers('gateway')).length,
    'tallygate-worker': (await containers('worker')).length,
  }
  let seen: unknown = null
  const scraped = await untilPatiently(
    async () => {
      const { activeTargets } = await ask(stack, 'targets')
      const up: Record<string, number> = {}
      for (const { health, labels } of activeTargets)
        if (health === 'up') up[labels.job] = (up[labels.job] ?? 0) + 1
      seen = activeTargets.map(({ scrapeUrl, health, lastError }: Record<string, string>) => ({
        ...{ scrapeUrl, health, lastError },
      }))
      return JSON.stringify(up) === JSON.stringify(wanted) ? true : null
    },
    { timeoutMs: SCRAPED_WITHIN_MS },
  )
  ok(scraped, `not all are scraped: ${JSON.stringify(seen)}`)
  const { groups } = await ask(stack, 'rules?type=alert')
  const rules = groups.flatMap((group: { rules: readonly object[] }) => group.rules)
  ok(rules.length > 0, 'the rules are loaded')
  // Prices are old where a stack reaches no source of newer ones: that pages no one.
  const pages = rules.filter(
    ({ state, labels }: { state: string; labels: Record<string, string> }) =>
      state === 'firing' && labels.severity === 'page',
  )
  deepEqual(
    pages.map(({ name }: { name: string }) => name),
    [],
  )
  let asked = 0
  for (const { expr } of DASHBOARDS.flatMap(({ rows }) => rows).flatMap(({ panels }) =>
    panels.flatMap(({ queries }) => queries),
  )) {
    const query = expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m')
    await ask(stack, `query?${new URLSearchParams({ query })}`)
    asked += 1
  }
  console.log(
    `Prometheus scrapes ${wanted.tallygate} gateways and ${wanted['tallygate-worker']} worker, has ${rules.length} rules of which none pages, and understands ${asked} queries of panels`,
  )
}

/** The data of an answer of Prometheus; it has no port on this machine. @throws Where it refuses. */
async function ask({ compose }: ComposeStack, path: string): Promise<ReturnType<typeof JSON.parse>> {
  const url = `http://127.0.0.1:9090/api/v1/${path}`
  const answer = JSON.parse(
    await compose(
      ...PROFILE,
      'exec',
      '--no-TTY',
      'prometheus',
      'wget',
      '--quiet',
      '--output-document=-',
      url,
    ),
  )
  equal(answer.status, 'success')
  return answer.data
}

async function checkGrafana({ compose }: ComposeStack): Promise<void> {
  const url = 'http://127.0.0.1:3000/api/search?type=dash-db'
  const found = await untilPatiently(
    async () => {
      const text = await compose(
        ...[...PROFILE, 'exec', '--no-TTY', 'grafana', 'wget', '--quiet', '--output-document=-', url],
      ).catch(() => '[]')
      return JSON.parse(text).length === DASHBOARDS.length ? true : null
    },
    { timeoutMs: SCRAPED_WITHIN_MS },
  )
  ok(found, 'Grafana has the dashboards')
  console.log(`Grafana has ${DASHBOARDS.length} dashboards`)
}
