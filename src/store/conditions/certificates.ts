import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import type { Condition } from './condition.ts'
import { selectLiving } from './processes.ts'

const MS_PER_DAY = 86_400_000
/** One that is renewed by itself is renewed before. */
const SOON_DAYS = 14
const LAST_DAYS = 3
const REPAIR =
  'write the renewed one to TLS_CERT_FILE and TLS_KEY_FILE: gateways take it by themselves within a minute'

/** The certificates of gateways that run: the nearest end first. */
async function selectCertificates(pool: Postgres, nowMs: number) {
  const known = (await selectLiving(pool)).flatMap(
    ({ process, report: { certificateEndsAtMs: endsAtMs } }) =>
      endsAtMs === null ? [] : [{ process, endsAtMs, days: (endsAtMs - nowMs) / MS_PER_DAY }],
  )
  return known.toSorted((a, b) => a.endsAtMs - b.endsAtMs)
}

async function checkCertificates(pool: Postgres, nowMs: number): Promise<readonly Finding[]> {
  const [first] = await selectCertificates(pool, nowMs)
  if (first === undefined) return []
  const { process, endsAtMs, days } = first
  const end = new Date(endsAtMs).toISOString()
  const detail = `that of gateway ${process} ${days < 0 ? 'ended' : 'ends'} ${end}`
  if (days >= SOON_DAYS) return [ok('certificates', detail)]
  return [(days < LAST_DAYS ? failure : warning)('certificates', detail, REPAIR)]
}

async function findEnding(pool: Postgres, nowMs: number, day: UtcDay): Promise<readonly Occurrence[]> {
  const ending = (await selectCertificates(pool, nowMs)).filter(({ days }) => days < SOON_DAYS)
  return ending.map(({ process, endsAtMs }) => {
    const end = new Date(endsAtMs).toISOString()
    return dailyOccurrence(process, day, {
      message: withRepair(`The certificate of gateway ${process} ends ${end}`, REPAIR),
      gateway: process,
      ends_at: end,
    })
  })
}

const ENDS = 'tallygate_certificate_expiry_seconds - time()'

export const CERTIFICATES: Condition = {
  name: 'certificates',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: LAST_DAYS, unit: 'days' },
  find: ({ pool, nowMs }) => checkCertificates(pool, nowMs),
  alert: {
    kind: 'certificate',
    meaning: `the certificate of a gateway ends within ${SOON_DAYS} days`,
    ofClient: false,
    when: 'each minute',
    finders: [({ pool, nowMs }, { today }) => findEnding(pool, nowMs, today)],
  },
  gauges: [
    {
      name: 'tallygate_certificate_expiry_seconds',
      help: 'When the certificate for clients ends, since 1970; NaN: there is none.',
      aggregator: 'min',
      read: ({ certificateEndsAtMs }) => (certificateEndsAtMs ?? Number.NaN) / 1000,
    },
  ],
  rules: [
    {
      name: 'CertificateEndsSoon',
      expr: `${ENDS} < ${SOON_DAYS} * 86400`,
      severity: 'ticket',
      summary: `The certificate for clients ends within ${SOON_DAYS} days, and was not renewed.`,
    },
    {
      name: 'CertificateEnds',
      expr: `${ENDS} < ${LAST_DAYS} * 86400`,
      severity: 'page',
      summary: `The certificate for clients ends within ${LAST_DAYS} days: write a renewed one to \`TLS_CERT_FILE\`.`,
    },
  ],
}
