import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import { FAILED_IN_A_ROW, type UpstreamReport } from '../processes/process-report.ts'
import type { Condition } from './condition.ts'
import { selectLiving } from './processes.ts'

/** With fewer calls, only failures in a row say something. */
const ENOUGH_CALLS = 5

/** Clients cannot bring these about: their calls do not get as far as the upstream. */
const BEFORE_THE_CALL: ReadonlySet<string> = new Set(['dns', 'connect_refused', 'connect_timeout', 'tls'])

/** An upstream at which calls fail, at one gateway, and why: what all fail of now, or most in five minutes did. */
interface FailingUpstream {
  readonly upstream: string
  readonly gateway: string
  readonly cause: string
  readonly failures: number
  readonly calls: number
  /** The client whose calls alone fail, by its name; `null`: they are of several. */
  readonly client: string | null
  /** Others are served, so that it is about what this client sends. */
  readonly isOfClient: boolean
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
  const living = await selectLiving(pool)
  const failing = living.flatMap(({ process: gateway, report }) =>
    report.upstreams.filter(isFailing).map((one) => ({ gateway, ...one })),
  )
  if (failing.length === 0) return []
  const names = await selectNames(
    pool,
    failing.flatMap(({ failedClient }) => failedClient ?? []),
  )
  return failing.map(
    ({ gateway, upstream, calls, failures, refusesCredential, causeInARow, failedClient, othersServed }) => {
      const [most] = Object.entries(failures).toSorted(([, a], [, b]) => b - a)
      const cause = refusesCredential ? 'credential_refused' : (causeInARow ?? most?.[0] ?? '')
      const isOfClient = othersServed && failedClient !== null && !BEFORE_THE_CALL.has(cause)
      const client = failedClient === null ? null : (names.get(failedClient) ?? failedClient)
      return { upstream, gateway, cause, failures: failures[cause] ?? 0, calls, client, isOfClient }
    },
  )
}

/** The names of clients, by their ids. */
async function selectNames(pool: Postgres, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await pool.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.clients where id = any($1)`,
    [ids],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
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
  const alike = Map.groupBy(failing, ({ cause, isOfClient }) => `${cause} ${isOfClient}`)
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const { cause, isOfClient } = first
    const named = [first, ...others].map(describe).join(', ')
    const why = cause.replaceAll('_', ' ')
    if (isOfClient)
      return warning(
        'upstreams',
        `calls of one client alone fail, ${why}: ${named}; those of others are served`,
        'see what this client sends: the upstream answers it so, and not the others',
      )
    return (cause === 'rate_limited' ? warning : failure)(
      'upstreams',
      `calls of the last 5 minutes fail, ${why}: ${named}`,
      repairOf(cause),
    )
  })
}

function describe({ upstream, gateway, failures, calls, client }: FailingUpstream): string {
  const whose = client === null ? '' : `, all of client ${client}`
  return `${upstream} (${failures} of ${calls} calls at gateway ${gateway}${whose})`
}

/** An alert is not sent of one client alone: it could raise one whenever it liked. */
async function findFailing(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const failing = (await selectFailing(pool)).filter(({ isOfClient }) => !isOfClient)
  // With the client in it, one that is refused on purpose does not use up the alert of the day.
  const bySubject = Map.groupBy(failing, ({ upstream, cause, client }) =>
    [upstream, cause, client ?? []].flat().join(' '),
  )
  return [...bySubject].flatMap(([subject, [first]]) => {
    if (first === undefined) return []
    const { upstream, cause, failures, calls, client, gateway } = first
    const whose = client === null ? '' : `, all of client ${client}`
    return dailyOccurrence(subject, day, {
      message: withRepair(
        `Calls to ${upstream} fail (${cause}): ${failures} of ${calls} in 5 minutes at gateway ${gateway}${whose}`,
        repairOf(cause),
      ),
      upstream,
      cause,
      failures,
      calls,
      only_client: client,
    })
  })
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
    when: 'at once',
    finders: [({ pool }, { today }) => findFailing(pool, today)],
  },
  gauges: [
    {
      name: 'tallygate_upstreams_refusing_credential',
      help: "Upstreams that refuse the gateway's key, but for those that refuse it to one client and serve others.",
      aggregator: 'max',
      read: ({ upstreamsRefusing }) => upstreamsRefusing,
    },
  ],
  // The count of refusals would not do: one client could raise it at will.
  rules: [
    {
      name: 'UpstreamRefusesCredential',
      expr: 'tallygate_upstreams_refusing_credential > 0',
      severity: 'page',
      summary:
        "An upstream refuses the gateway's key: all of its calls fail. Other causes (`dns`, `tls`, `server_error`, ...) have counts, too.",
    },
  ],
}
