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
