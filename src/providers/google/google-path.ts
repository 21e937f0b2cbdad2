const MODEL = /\/(models|endpoints|tunedModels)\/([^/:]+)(?::|\/|$)/i

/**
 * The model a path of Google's names, on AI Studio (`/v1beta/models/{model}:generateContent`) or Vertex
 * (`.../publishers/google/models/{model}:predict`, `.../endpoints/{id}:predict`, then with `endpoints/` kept:
 * the bare number could be anything); `null` when it names none.
 */
export function googleModelInPath(path: string): string | null {
  const [, kind, name] = MODEL.exec(path) ?? []
  if (kind === undefined || name === undefined || name === 'openapi') return null
  return kind.toLowerCase() === 'models' ? name : `${kind}/${name}`
}

/** The name of a model without the resource before it (`models/`, `publishers/google/models/`). */
export function bareGoogleName(name: string): string {
  const at = name.lastIndexOf('models/')
  return at < 0 ? name : name.slice(at + 'models/'.length)
}
