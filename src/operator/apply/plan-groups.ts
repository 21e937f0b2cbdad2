import type { Client } from '../../keys/clients.ts'
import type { GroupInTree } from '../../keys/groups/groups.ts'
import { conflict } from '../../operations/refuse.ts'
import { type ApplyStep, step } from './apply-step.ts'
import type { Declared, DeclaredGroup } from './declared.ts'

/**
 * The steps that make and place groups, those above others first, and then clients in them.
 *
 * @throws {GatewayError} `conflict` where declared groups are in each other.
 */
export function planGroups(
  { groups, clients = [] }: Declared,
  standing: { readonly groups: readonly GroupInTree[]; readonly clients: readonly Client[] },
  gone: ApplyStep[],
): readonly ApplyStep[] {
  const steps: ApplyStep[] = []
  const names = new Map(standing.groups.map(({ id, name }) => [id, name]))
  for (const { name, into } of inOrder(groups ?? [])) {
    const there = standing.groups.find((group) => group.name === name)
    if (there === undefined) {
      steps.push(step('create', 'group', name, 'groups.create', () => ({ name, ...(into && { into }) })))
      continue
    }
    const parent = there.parentId === null ? null : (names.get(there.parentId) ?? null)
    if (parent !== (into ?? null)) steps.push(moved('group', name, parent, into ?? null))
  }
  for (const { name, group } of clients) {
    const there = standing.clients.find((client) => client.name === name)?.group ?? null
    if (group !== undefined && group !== there) steps.push(moved('client', name, there, group))
  }
  if (groups !== undefined)
    for (const { name } of standing.groups.toReversed())
      if (!groups.some((group) => group.name === name))
        gone.push(step('remove', 'group', name, 'groups.remove', () => ({ id: name, none: true })))
  return steps
}

function moved(what: 'group' | 'client', name: string, from: string | null, to: string | null): ApplyStep {
  const place = to === null ? { none: true } : { none: false, into: to }
  const detail = `in ${from ?? 'no group'} -> ${to ?? 'no group'}`
  return { ...step('change', what, name, `${what}s.move`, () => ({ id: name, ...place })), detail }
}

/** Each group behind the one that it is in. */
function inOrder(groups: readonly DeclaredGroup[]): readonly DeclaredGroup[] {
  const ordered: DeclaredGroup[] = []
  let left = groups
  while (left.length > 0) {
    const [ready, waiting] = [new Set<DeclaredGroup>(), new Set(left.map(({ name }) => name))]
    for (const group of left) if (group.into === undefined || !waiting.has(group.into)) ready.add(group)
    const [first] = left
    if (ready.size === 0) throw conflict(`The group ${first?.name} would be in itself.`, 'document')
    ordered.push(...ready)
    left = left.filter((group) => !ready.has(group))
  }
  return ordered
}
