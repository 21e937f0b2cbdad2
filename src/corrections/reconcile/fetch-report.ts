import type { UtcDay } from '../../domain/utc-day.ts'
import { conflict } from '../../operations/refuse.ts'
import { ANTHROPIC_URL, fetchAnthropicReport } from './anthropic.ts'
import { ReportError } from './fetch-pages.ts'
import { fetchOpenAiReport, OPENAI_URL } from './openai.ts'
import type { ModelDay } from './report.ts'

interface Reporter {
  readonly url: string
  readonly fetch: (baseUrl: string, adminKey: string, from: UtcDay, to: UtcDay) => Promise<ModelDay[]>
}

const REPORTERS = {
  openai: { url: OPENAI_URL, fetch: fetchOpenAiReport },
  anthropic: { url: ANTHROPIC_URL, fetch: fetchAnthropicReport },
} as const satisfies Record<string, Reporter>

/** Providers with a report of their own. */
export type ReporterName = keyof typeof REPORTERS

/**
 * A provider's own usage and cost report of UTC days, both included.
 *
 * @param baseUrl In place of the provider's own.
 * @throws {GatewayError} `conflict`, where there is none to be had, and why.
 */
export async function fetchReport(
  name: ReporterName,
  baseUrl: string | undefined,
  adminKey: string,
  from: UtcDay,
  to: UtcDay,
): Promise<ModelDay[]> {
  const { url, fetch } = REPORTERS[name]
  try {
    return await fetch((baseUrl ?? url).replace(/\/+$/, ''), adminKey, from, to)
  } catch (error) {
    throw error instanceof ReportError ? conflict(`${error.message}.`) : error
  }
}
