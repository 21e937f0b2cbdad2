/** A model as `/v1/models` shows it. */
export interface ShownModel {
  readonly id: string
  readonly object: 'model'
  /** Seconds since 1970; only where the source has it. */
  readonly created?: number
  readonly owned_by: string
}

interface ModelList {
  readonly models: readonly ShownModel[]
  readonly nextQuery: string | null
}

/** What Anthropic's and Google's lists said of a model. */
const sources = new WeakMap<ShownModel, Readonly<Record<string, unknown>>>()

/** A row of Anthropic's or Google's own list; empty where the model is from another one. */
export function sourceOf(model: ShownModel): Readonly<Record<string, unknown>> {
  return sources.get(model) ?? {}
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
    const model = toListed(id, owner, created)
    // More than OpenAI's fields has only a list that is written otherwise.
    if (!('object' in row)) sources.set(model, row)
    models.push(model)
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
