/** A job that was submitted and has not reported its usage yet. */
export interface UnsettledJob {
  readonly id: string
  readonly kind: string
  readonly upstream: string
  readonly clientId: string
  readonly clientName: string
  readonly keyId: string
  /** The model named when it was created; `null`: none, as with batches. */
  readonly model: string | null
  readonly createdAt: Date
  /** `null`: it was not deleted through the gateway. */
  readonly deletedAt: Date | null
}

/** It as JSON, the same on the command line and over HTTP. */
export function renderJob(job: UnsettledJob) {
  return {
    id: job.id,
    kind: job.kind,
    upstream: job.upstream,
    client: job.clientName,
    key_id: job.keyId,
    model: job.model,
    created_at: job.createdAt.toISOString(),
    deleted_at: job.deletedAt?.toISOString() ?? null,
  }
}
