import { compilePathPatterns } from '../domain/path-patterns.ts'
import { entryOf, type Provider } from './registry.ts'

type FindNames = (method: string, path: string) => readonly string[] | null

const finders = new Map<Provider, FindNames>()

/** The members of such a call's answer that hold an address of the provider's own; `null`: none. `path` is canonical. */
export function findAddressMembers(
  provider: Provider,
  method: string,
  path: string,
): readonly string[] | null {
  let find = finders.get(provider)
  if (find === undefined) {
    find = finderOf(provider)
    finders.set(provider, find)
  }
  return find(method, path)
}

function finderOf(provider: Provider): FindNames {
  const groups = entryOf(provider).ownAddresses?.members ?? []
  const namesOf = new Map(groups.flatMap(({ patterns, names }) => patterns.map((text) => [text, names])))
  const match = compilePathPatterns([...namesOf.keys()])
  return (method, path) => {
    const pattern = match(method, path)
    return pattern === null ? null : (namesOf.get(pattern) ?? null)
  }
}
