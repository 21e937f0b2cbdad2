const OPERATION =
  /\/model\/(.+)\/(?:converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$/i

/**
 * The model a Bedrock path names: `/model/{id}/converse`, the id percent-encoded or not, of a model or of an
 * inference profile, or the ARN of one. `null` when the path is none of a model's.
 */
export function bedrockModelInPath(path: string): string | null {
  const id = OPERATION.exec(path)?.[1]
  return id === undefined ? null : bedrockModel(id)
}

/** Resources whose id is a model's name; the others' ids say nothing without their type. */
const NAMED_BY_ID: ReadonlySet<string> = new Set(['foundation-model', 'inference-profile'])

/**
 * The model an id or ARN means, without region and account: `arn:aws:bedrock:...:inference-profile/us.meta.llama...`
 * is `us.meta.llama...`; a provisioned, custom or imported model or a profile of one's own is `{type}/{id}`.
 */
export function bedrockModel(idOrArn: string): string {
  const resource = /^arn:[^:]*:[^:]*:[^:]*:[^:]*:(.+)$/.exec(idOrArn)?.[1]
  if (resource === undefined) return idOrArn
  const slash = resource.indexOf('/')
  const type = resource.slice(0, slash)
  return slash !== -1 && NAMED_BY_ID.has(type) ? resource.slice(slash + 1) : resource
}

/** Tells whether a path asks for the answer as a stream of events. */
export function isStreamPath(path: string): boolean {
  return /-stream$/i.test(path)
}
