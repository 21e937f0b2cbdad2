import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import type { UpstreamReport } from '../processes/process-report.ts'
import type { Condition } from './condition.ts'
import { selectLiving } from './processes.ts'

/** With fewer calls, only failures in a row say something. */
const ENOUGH_CALLS = 5
const FAILED_IN_A_ROW = 3

/** An upstream at which calls fail, at one gateway, and the most frequent cause. */
interface FailingUpstream {
  readonly upstream: string
  readonly gateway: string
  readonly cause: string
  readonly failures: number
  readonly calls: number
}

function isFailing({
  calls,
  failures,
  failedInARow,
  servedInARow,
  refusesCredential,
}: UpstreamReport): boolean {
  if (refusesCredential || failedInARow >= FAILED_IN_A_ROW) return true
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0)
  return calls >= ENOUGH_CALLS && failed * 2 >= calls && servedInARow < ENOUGH_CALLS
}

async function selectFailing(pool: Postgres): Promise<readonly FailingUpstream[]> {
  return (await selectLiving(pool)).flatMap(({ process: gateway, report }) =>
    report.upstreams.filter(isFailing).map(({ upstream, calls, failures, refusesCredential }) => {
      const [most] = Object.entries(failures).toSorted(([, a], [, b]) => b - a)
      const cause = refusesCredential ? 'credential_refused' : (most?.[0] ?? '')
      return { upstream, gateway, cause, failures: failures[cause] ?? 0, calls }
    }),
  )
}

const REPAIRS: Readonly<Record<string, string>> = {
  dns: 'its name has no address: correct its URL, or the name server of the gateway hosts',
  connect_refused: 'nothing listens there: start it, or correct its URL',
  connect_timeout: 'its host does not answer: see routes and firewalls, or correct its URL',
  tls: 'its certificate is not trusted: renew it, or set NODE_EXTRA_CA_CERTS at the gateways',
  credential_refused:
    'it refuses the key that gateways have for it: renew that, then tallygate reload; restart them where it is a variable',
  rate_limited: "the account's limits are used up: ask the provider for more, or lower the limits of clients",
  server_error: 'see the status of the provider, or the log of the upstream',
  slow_answer: 'see the load of the upstream, or raise UPSTREAM_HEADERS_TIMEOUT_MS',
}

function repairOf(cause: string): string {
  return REPAIRS[cause] ?? 'see the log of the gateway, and that of the upstream'
}

async function checkUpstreams(pool: Postgres): Promise<readonly Finding[]> {
  const failing = await selectFailing(pool)
  if (failing.length === 0) return [ok('upstreams', 'calls of the last 5 minutes reach them')]
  const byCause = Map.groupBy(failing, ({ cause }) => cause)
  return [...byCause].map(([cause, of]) => {
    const named = of.map(
      ({ upstream, gateway, failures, calls }) =>
        `${upstream} (${failures} of ${calls} calls at gateway ${gateway})`,
    )
    return (cause === 'rate_limited' ? warning : failure)(
      'upstreams',
      `calls of the last 5 minutes fail, ${cause.replaceAll('_', ' ')}: ${named.join(', ')}`,
      repairOf(cause),
    )
  })
}

async function findFailing(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const failing = await selectFailing(pool)
  const bySubject = Map.groupBy(failing, ({ upstream, cause }) => `${upstream} ${cause}`)
  return [...bySubject].flatMap(([subject, [first]]) =>
    first === undefined
      ? []
      : dailyOccurrence(subject, day, {
          message: withRepair(
            `Calls to ${first.upstream} fail (${first.cause}): ${first.failures} of ${first.calls} in 5 minutes at gateway ${first.gateway}`,
            repairOf(first.cause),
          ),
          upstream: first.upstream,
          cause: first.cause,
          failures: first.failures,
          calls: first.calls,
        }),
  )
}

export const UPSTREAMS: Condition = {
  name: 'upstreams',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: ENOUGH_CALLS, unit: 'calls' },
  find: ({ pool }) => checkUpstreams(pool),
  event: 'upstream.credential_refused',
  alert: {
    kind: 'upstream',
    meaning: 'calls to an upstream fail, by cause',
    ofClient: false,
    when: 'often',
    finders: [({ pool }, { today }) => findFailing(pool, today)],
  },
  rules: [
    {
      name: 'UpstreamRefusesCredential',
      expr: 'increase(tallygate_upstream_failures_total{cause="credential_refused"}[5m]) > 0',
      severity: 'page',
      summary:
        "An upstream refuses the gateway's key: all of its calls fail. Other causes (`dns`, `tls`, `server_error`, ...) have counts, too.",
    },
  ],
}
