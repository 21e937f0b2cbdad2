import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'

/** A provider's report could not be read. Never shows the key. */
export class ReportError extends Error {
  override readonly name = 'ReportError'
}

export interface ReportSource {
  /** `https://api.openai.com`, without a trailing slash. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
}

/** One page of a report, as both providers write it. */
export interface Page<Bucket> {
  readonly data: readonly Bucket[]
  readonly has_more: boolean
  readonly next_page: string | null
}

const TIMEOUT_MS = 30_000
const TRIES = 4
const LONGEST_WAIT_SECONDS = 60
/** A year of days comes in a dozen; many more means that the other side turns in a circle. */
const MAX_PAGES = 200

/**
 * All buckets of a report, page after page.
 *
 * @param query Name and value pairs; a name may come twice.
 * @throws {ReportError} when the provider refuses, does not answer, or answers something else.
 */
export async function fetchPages<Bucket>(
  source: ReportSource,
  path: string,
  query: readonly (readonly [string, string])[],
  schema: z.ZodType<Page<Bucket>>,
): Promise<Bucket[]> {
  const buckets: Bucket[] = []
  let page: string | null = null
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const pairs = page === null ? query : [...query, ['page', page] as const]
    const url = `${source.baseUrl}${path}?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]))}`
    const parsed = schema.safeParse(await fetchJson(source, url, path))
    if (!parsed.success) {
      throw new ReportError(`${path}: not the report that is documented: ${issueText(parsed.error)}`)
    }
    buckets.push(...parsed.data.data)
    if (!parsed.data.has_more) return buckets
    if (parsed.data.next_page === null || parsed.data.next_page === page) {
      throw new ReportError(`${path}: says that there is more, but not where`)
    }
    page = parsed.data.next_page
  }
  throw new ReportError(`${path}: has no end after ${MAX_PAGES} pages`)
}

function issueText(error: z.ZodError): string {
  const [issue] = error.issues
  return issue === undefined ? '' : `${issue.path.join('.')} ${issue.message}`
}

async function fetchJson(source: ReportSource, url: string, path: string): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    // What refuses such a header shows it whole.
    if (Object.values(source.headers).some((value) => !/^[\x20-\x7e]*$/.test(value)))
      throw new ReportError(`${path}: the admin key has characters that no key has, such as a line break`)
    const answer = await fetch(url, {
      headers: source.headers,
      redirect: 'error', // the key is for this host alone
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => {
      throw new ReportError(`${path}: ${source.baseUrl} cannot be reached: ${failureOf(error)}`)
    })
    if (answer.ok) {
      return await answer.json().catch(() => {
        throw new ReportError(`${path}: the answer is not JSON`)
      })
    }
    const isBusy = answer.status === 429 || answer.status >= 500
    if (!isBusy || attempt === TRIES) throw new ReportError(`${path}: ${await refusalText(answer)}`)
    await answer.body?.cancel()
    await delay(waitSeconds(answer, attempt) * 1000)
  }
}

/** As long as it asks for, else twice as long each time. */
function waitSeconds(answer: Response, attempt: number): number {
  const asked = answer.headers.get('retry-after')
  const seconds = asked !== null && /^\d{1,4}$/.test(asked) ? Number(asked) : 2 ** (attempt - 1)
  return Math.min(seconds, LONGEST_WAIT_SECONDS)
}

async function refusalText(answer: Response): Promise<string> {
  const text = (await answer.text().catch(() => '')).replace(/\s+/g, ' ').slice(0, 300)
  const hint =
    answer.status === 401 || answer.status === 403 ? ' (it must be an admin key of the organization)' : ''
  return `the provider answered ${answer.status}${hint}${text === '' ? '' : `: ${text}`}`
}

/** Fetch hides the reason in the cause. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message
}
