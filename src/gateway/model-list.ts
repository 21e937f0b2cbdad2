import type { ShownModel } from './routes/models.ts'

interface ModelList {
  readonly models: readonly ShownModel[]
  readonly nextQuery: string | null
}

/** OpenAI's `data`, Anthropic's pages of it, Gemini's `models`, Together's bare array. */
export function parseList(answer: unknown, provider: string): ModelList {
  const rows = Array.isArray(answer) ? answer : isObject(answer) ? (answer.data ?? answer.models) : null
  const models: ShownModel[] = []
  for (const row of Array.isArray(rows) ? rows : []) {
    if (!isObject(row)) continue
    const id = row.id ?? (typeof row.name === 'string' ? row.name.replace(/^models\//, '') : undefined)
    if (typeof id !== 'string' || id === '') continue
    const owner = typeof row.owned_by === 'string' && row.owned_by !== '' ? row.owned_by : provider
    const created = Number.isSafeInteger(row.created) ? Number(row.created) : createdAt(row.created_at)
    models.push(toListed(id, owner, created))
  }
  return { models, nextQuery: nextQueryOf(answer) }
}

function createdAt(text: unknown): number | undefined {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

function nextQueryOf(answer: unknown): string | null {
  if (!isObject(answer)) return null
  if (answer.has_more === true && typeof answer.last_id === 'string')
    return `after_id=${encodeURIComponent(answer.last_id)}`
  if (typeof answer.nextPageToken === 'string' && answer.nextPageToken !== '') {
    return `pageToken=${encodeURIComponent(answer.nextPageToken)}`
  }
  return null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toListed(id: string, ownedBy: string, created: number | undefined): ShownModel {
  return created === undefined
    ? { id, object: 'model', owned_by: ownedBy }
    : { id, object: 'model', created, owned_by: ownedBy }
}
