import { z } from 'zod'

/** So many failures in a row say something, however few the calls. */
export const FAILED_IN_A_ROW = 3

/** How calls to one upstream went in the last five minutes, at one process. */
const upstreamReport = z.object({
  upstream: z.string(),
  calls: z.number(),
  /** By cause. */
  failures: z.record(z.string(), z.number()),
  /** Since the last call that succeeded, and since the last one that failed. */
  failedInARow: z.number(),
  servedInARow: z.number(),
  /** The one cause of the last failures, three in a row at least; `null`: there are none, or they have several. */
  causeInARow: z.string().nullable().default(null),
  /** The upstream refused the gateway's credential, and has taken it for no call since. */
  refusesCredential: z.boolean(),
  /** The id of the client whose calls all of these failures are; `null`: they are of several, or there are none. */
  failedClient: z.string().nullable().default(null),
  /** Meanwhile calls of other clients succeed. */
  othersServed: z.boolean().default(false),
  /** Whether routes ask it in its turn: see `Circuits`. Processes of releases before do not say it. */
  circuit: z.enum(['closed', 'open', 'half_open']).default('closed'),
})

/** How a process has a credential that ends. */
const credentialReport = z.object({
  upstream: z.string(),
  kind: z.string(),
  /** `null`: none is there, or it says no end. */
  endsAtMs: z.number().nullable(),
  isUsable: z.boolean(),
  /** Why the last attempt to renew it failed. */
  problem: z.string().nullable(),
})

const processReport = z.object({
  host: z.string(),
  startedAtMs: z.number(),
  version: z.string(),
  /** Of the operator's listener. */
  adminAddress: z.string().nullable(),
  /** A hash of what gateways must have alike; and of what they price by. */
  configuration: z.string().nullable(),
  prices: z.string().nullable(),
  openCalls: z.number().nullable(),
  /** Whether the disk takes what is written to the journal, and its size. */
  journalWritable: z.boolean().nullable(),
  diskBytes: z.number().nullable(),
  diskFreeBytes: z.number().nullable(),
  /** The end of the certificate for clients. */
  certificateEndsAtMs: z.number().nullable(),
  /** The streams that this process writes to, or counts. */
  shards: z.array(z.string()),
  upstreams: z.array(upstreamReport),
  /** Records of its journals that are not counted yet. */
  uncommittedRecords: z.number().nullable().default(null),
  /** The last time that it was asked to read its configuration again, and why it could not; `null`: it could. */
  reload: z.object({ askedAtMs: z.number(), problem: z.string().nullable() }).nullable().default(null),
  /** Processes of releases before do not say it. */
  credentials: z.array(credentialReport).default([]),
  /** The ids of the secrets in its KEY_PEPPER. */
  pepperIds: z.array(z.string()).default([]),
  /** For how long it has said so without a pause: Postgres was there, and others could say it as well. */
  steadyMs: z.number().default(0),
})

export type UpstreamReport = z.output<typeof upstreamReport>

export type CredentialReport = z.output<typeof credentialReport>

/** What a gateway or worker says of itself; `null`: it has none of it, or does not know. */
export type ProcessReport = z.output<typeof processReport>

/** What a process has nothing of. */
export const NOTHING_REPORTED = {
  adminAddress: null,
  configuration: null,
  prices: null,
  openCalls: null,
  journalWritable: null,
  diskBytes: null,
  diskFreeBytes: null,
  certificateEndsAtMs: null,
  shards: [],
  upstreams: [],
  uncommittedRecords: null,
  reload: null,
  credentials: [],
  pepperIds: [] as string[],
  steadyMs: 0,
} as const satisfies Partial<ProcessReport>

/** `null`: there is none, or one of another release that cannot be read. */
export function parseReport(value: unknown): ProcessReport | null {
  return processReport.safeParse(value).data ?? null
}
