// Ids that stand in a query string: cursors of lists, and what a request is about beside its path.
const ID_PARAMETER = /(?:id|ids|after|before|name|cursor|conversation|container)$/i
const MAX_IDS = 16

/** @returns `null`: more than an honest client sends. */
export function idsInQuery(pathAndQuery: string): readonly string[] | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return []
  const ids: string[] = []
  for (const [name, value] of new URLSearchParams(pathAndQuery.slice(queryStart))) {
    if (value === '' || !ID_PARAMETER.test(name.replace(/\[\w*\]$/, ''))) continue
    if (ids.length === MAX_IDS) return null
    ids.push(value)
  }
  return ids
}
