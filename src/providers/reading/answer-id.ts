import type { ResponseHead } from '../dialect.ts'
import { compileProjection, type Projection, projectMembers } from '../wires/plans/json-projection.ts'
import { member, objectIn, textIn } from './json-value.ts'

/**
 * The members by which answers name themselves: OpenAI and all who speak its formats, Anthropic and Cohere (`id`),
 * Gemini (`responseId`), Cohere's first version (`generation_id`), LM Studio (`response_id`), Alibaba (`request_id`).
 */
const ID_NAMES = ['id', 'responseId', 'generation_id', 'response_id', 'request_id'] as const
/** Where the answer itself stands inside a document or an event. */
const INNER_NAMES = ['message', 'response', 'interaction', 'result'] as const

/** Bedrock's answers have no id but that of their request, which AWS's own logs have too. */
const REQUEST_ID_HEADER = 'x-amzn-requestid'
/** More than any id has; what is kept of a call is bounded further. */
const MAX_ID_CHARACTERS = 512

const KEEP = compileProjection('value')
const ID_MEMBERS = ID_NAMES.map((key) => ({
  key,
  bytes: Buffer.from(key),
  projection: KEEP,
  latest: { text: '' },
}))
const plans = new WeakMap<Projection, Projection>()

/** The plan, and beside what it keeps the answer's id: from the documents that are read anyway, no others. */
export function projectionWithAnswerId(projection: Projection): Projection {
  const known = plans.get(projection)
  if (known !== undefined) return known
  const made = withIds(projection, true)
  plans.set(projection, made)
  return made
}

function withIds(projection: Projection, isOuter: boolean): Projection {
  if (projection.kind !== 'members') return projection
  const inner = projection.members.map((wanted) =>
    isOuter && INNER_NAMES.some((name) => name === wanted.key)
      ? { ...wanted, projection: withIds(wanted.projection, false) }
      : wanted,
  )
  const members = [...inner, ...ID_MEMBERS.filter(({ key }) => !inner.some((wanted) => wanted.key === key))]
  return projectMembers(members)
}

/** The id of the answer that a document of it names; `null`: none. */
export function answerIdIn(document: unknown): string | null {
  const outer = objectIn(document)
  if (outer === null) return null
  for (const name of INNER_NAMES) {
    const id = idOf(member(outer, name))
    if (id !== null) return id
  }
  return idOf(outer)
}

function idOf(fields: Readonly<Record<string, unknown>> | null): string | null {
  if (fields === null) return null
  for (const name of ID_NAMES) {
    const id = textIn(fields[name])
    if (id !== null) return id.slice(0, MAX_ID_CHARACTERS)
  }
  return null
}

/** The id that the head of an answer names; `null`: none. */
export function answerIdInHead(head: ResponseHead): string | null {
  return textIn(head.headers[REQUEST_ID_HEADER])?.slice(0, MAX_ID_CHARACTERS) ?? null
}
