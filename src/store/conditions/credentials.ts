import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { Postgres } from '../connection/postgres.ts'
import type { CredentialReport } from '../processes/process-report.ts'
import type { Condition } from './condition.ts'
import { selectLiving } from './processes.ts'

interface HeldCredential extends CredentialReport {
  readonly process: string
}

const REPAIRS: Readonly<Record<string, string>> = {
  aws: 'see the profile, role or instance that AWS credentials come from at that host',
  google: 'see the service account, its key file, or the metadata server at that host',
  'sign-in':
    'see the issuer in sign_in or self_service, and whether it is reached from that host; tokens go on',
  tokens: 'see jwks_url, and whether it is reached from that host',
  azure: 'see the application or managed identity in Entra, and its secret, at that host',
}

/** What is fetched for those who call. */
const SUBJECTS: Readonly<Record<string, (name: string) => string>> = {
  tokens: (name) => `keys of the identity provider ${name}`,
  'sign-in': (whose) => `sign-in of ${whose}`,
}

async function checkCredentials(pool: Postgres): Promise<readonly Finding[]> {
  const held: HeldCredential[] = (await selectLiving(pool)).flatMap(({ process, report }) =>
    report.credentials.map((credential) => ({ ...credential, process })),
  )
  const byUpstream = Map.groupBy(
    held,
    ({ upstream, kind }) => SUBJECTS[kind]?.(upstream) ?? `of upstream ${upstream}: ${kind}`,
  )
  return [...byUpstream].map(([subject, of]) => findingOf(subject, of))
}

/** The worst of all processes: a process that lacks it fails calls that others serve. */
function findingOf(subject: string, held: readonly HeldCredential[]): Finding {
  const lacking = held.find(({ isUsable }) => !isUsable)
  const failing = lacking ?? held.find(({ problem }) => problem !== null)
  const ends = held.flatMap(({ endsAtMs }) => endsAtMs ?? [])
  const end = ends.length === 0 ? 'without an end' : `until ${timeOf(Math.min(...ends))}`
  if (failing === undefined) return ok('credentials', `${subject}, valid ${end}`)
  const { process, problem, kind } = failing
  const why = `at gateway ${process}: ${problem ?? 'it was not fetched yet'}`
  const repair = REPAIRS[kind] ?? 'see the log of the gateway'
  // No call needs it, and no token.
  if (kind === 'sign-in') return warning('credentials', `${subject}, not reached ${why}`, repair)
  return lacking === undefined
    ? warning('credentials', `${subject}, valid ${end}, cannot be renewed ${why}`, repair)
    : failure('credentials', `${subject}, none is valid ${why}`, repair)
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

export const CREDENTIALS: Condition = {
  name: 'credentials',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkCredentials(pool),
  event: 'upstream.credential_not_renewed',
}
