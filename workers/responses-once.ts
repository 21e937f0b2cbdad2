import type { CallRecord } from '../src/domain/call-record.ts'
import { withoutUsage } from '../src/domain/daily-usage.ts'
import { claimResponses, type ResponseName } from '../src/store/ledger-transaction.ts'
import type { PostgresSession } from '../src/store/postgres.ts'

/** The first record with a response's usage keeps it; the same response reported again is a request only. */
export async function countResponsesOnce(
  session: PostgresSession,
  records: readonly CallRecord[],
): Promise<readonly CallRecord[]> {
  const first = new Map<string, ResponseName>()
  for (const record of records) {
    const name = responseNameOf(record)
    if (name !== null) first.set(`${name.upstream}\0${name.responseId}`, name)
  }
  if (first.size === 0) return records
  const sorted = [...first].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, name]) => name)
  const claimed = await claimResponses(session, sorted)
  const unspent = new Set(claimed.map(({ upstream, responseId }) => `${upstream}\0${responseId}`))
  return records.map((record) => {
    const name = responseNameOf(record)
    return name === null || unspent.delete(`${name.upstream}\0${name.responseId}`)
      ? record
      : withoutUsage(record)
  })
}

/** What names the response whose usage this record brings; `null`: it brings none, or none that may come again. */
function responseNameOf(record: CallRecord): ResponseName | null {
  const { upstream, responseId, usageSource } = record
  if (responseId === null || usageSource === 'none' || usageSource === 'invalid') return null
  return { upstream, responseId }
}
