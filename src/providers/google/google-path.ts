const KIND = /\/(models|endpoints|tunedModels)\//i
const METHOD = /:[a-z]+$/i
/** A project may be called like a kind. */
const PROJECT = /\/projects\/[^/]+\/locations\/[^/]+(?=\/)/i

/**
 * The model a path of Google's names, on AI Studio (`/v1beta/models/{model}:generateContent`) or Vertex
 * (`.../publishers/google/models/{model}:predict`, `.../endpoints/{id}:predict`, then with `endpoints/` kept:
 * the bare number could be anything); `null` when it names none.
 */
export function googleModelInPath(path: string): string | null {
  const project = PROJECT.exec(path)
  // Within a name of LiteLLM's it is none.
  const isBelow = project !== null && project.index < path.search(KIND)
  const resource = isBelow ? path.slice(project.index + project[0].length) : path
  const before = KIND.exec(resource)
  const kind = before?.[1]
  if (before === null || kind === undefined) return null
  const behind = resource.slice(before.index + before[0].length)
  const method = behind.includes('/operations/') ? -1 : behind.search(METHOD)
  // LiteLLM takes names with slashes and colons before a method: `{model_name:path}` in its routes.
  const name = method === -1 ? behind.split(/[/:]/, 1)[0] : behind.slice(0, method)
  if (name === undefined || name === '' || name === 'openapi') return null
  return kind.toLowerCase() === 'models' ? name : `${kind}/${name}`
}

/** The name of a model without the resource before it (`models/`, `publishers/google/models/`). */
export function bareGoogleName(name: string): string {
  const at = name.lastIndexOf('models/')
  return at < 0 ? name : name.slice(at + 'models/'.length)
}
