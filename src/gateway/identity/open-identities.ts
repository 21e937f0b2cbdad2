import type { CallerLookup } from '../../call/call-ports.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import { registerIdentity } from '../../keys/identities.ts'
import type { KeyDirectory } from '../../keys/key-directory.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { CredentialReport } from '../../store/processes/process-report.ts'
import { claimedValues } from '../axes/claimed-values.ts'
import { Identities } from './identities.ts'
import { IssuerKeys } from './key-set.ts'
import { RevokedList } from './revoked-list.ts'

interface OpenIdentitiesOptions {
  readonly config: Pick<GatewayConfig, 'identity' | 'axes' | 'keyPepper'>
  readonly keys: Pick<KeyDirectory, 'find' | 'findIdentity'>
  readonly pool: Postgres
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly log: Logger
}

/** How callers are found. */
interface RunningIdentities {
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
  /** Absent: no proxy is trusted. */
  readonly findVouched?: (subject: string, client: string) => CallerLookup | Promise<CallerLookup>
  report(): CredentialReport[]
  stop(): Promise<void>
}

/** By keys of ours alone, where no identities are configured: then nothing comes between. */
export function openIdentities({ config, keys, pool, now, log }: OpenIdentitiesOptions): RunningIdentities {
  const { identity, axes, keyPepper } = config
  if (identity === undefined)
    return {
      findCaller: (key) => keys.find(key),
      report: () => [],
      stop: async () => {},
    }
  const opened = identity.issuers.map((issuer) => ({
    issuer,
    keys: new IssuerKeys({ ...issuer, now, onChange: logChange(issuer.name, log) }),
    revoked: issuer.revokedFile === null ? null : new RevokedList(issuer.revokedFile, log),
  }))
  const revokedOf = new Map(opened.map(({ issuer, revoked }) => [issuer, revoked]))
  const identities = new Identities({
    issuers: new Map(opened.map((one) => [one.issuer.issuer, one])),
    keys,
    register: (seen) => registerIdentity(pool, seen, identity),
    isRevoked: ({ issuer, subject, tokenId }) => revokedOf.get(issuer)?.has(subject, tokenId) === true,
    claimed: claimedValues(axes, keyPepper[0] ?? ''),
    now,
  })
  return {
    findCaller: (key) => identities.find(key),
    ...(identity.proxy === null
      ? {}
      : { findVouched: (subject: string, client: string) => identities.findVouched(subject, client) }),
    report: () =>
      opened.map(({ issuer, keys: known }) => ({ upstream: issuer.name, kind: 'tokens', ...known.state() })),
    async stop() {
      for (const { keys: known, revoked } of opened) {
        known.stop()
        await revoked?.stop()
      }
    },
  }
}

function logChange(name: string, log: Logger): (problem: string | null) => void {
  return (problem) => {
    if (problem === null)
      log.info(
        { event: 'identity.keys_fetched', issuer: name },
        'the keys of an identity provider are fetched again',
      )
    else
      log.warn(
        { event: 'identity.keys_not_fetched', issuer: name, reason: problem },
        'the keys of an identity provider cannot be fetched; those of before are good for a day',
      )
  }
}
