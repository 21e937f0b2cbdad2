import { createHash } from 'node:crypto'
import type { RouteConfig } from '../../config/yaml/routes.ts'
import type { Circuits } from './circuits.ts'
import type {
  ModelRoute,
  OrderedCall,
  OrderedRoute,
  RouteTable,
  RouteTarget,
  Upstream,
} from './upstream-table.ts'

export interface RouteTableOptions {
  readonly circuits: Circuits
  /** What a usual call costs there now, pico-USD; `null`: that is not known. */
  readonly quote: (target: RouteTarget, clientName: string) => bigint | null
}

/** `null`: there are none, and calls do nothing for them. */
export function buildRouteTable(
  routes: readonly RouteConfig[],
  upstreams: readonly Upstream[],
  { circuits, quote }: RouteTableOptions,
): RouteTable | null {
  if (routes.length === 0) return null
  circuits.keepsHealth = routes.some(({ order }) => order === 'health')
  const byName = new Map(routes.map((route) => [route.model, routeOf(route, upstreams)]))
  return {
    names: [...byName.keys()],
    circuits,
    find: (name) => byName.get(name) ?? null,
    order(found, call) {
      const rules = found[0]?.choice?.rules
      if (rules === undefined || found.length < 2) return found
      const { clientId } = call.caller
      const sorted = sortedBy(rules, found, call, { circuits, quote })
      if (circuits.areClosed) return sorted
      const isOpen = (route: OrderedRoute) => circuits.isOpenTo(route.upstream.name, clientId)
      if (sorted.every(isOpen)) return sorted
      return [...sorted.filter(isOpen), ...sorted.filter((route) => !isOpen(route))]
    },
  }
}

function routeOf({ to, ...rules }: RouteConfig, upstreams: readonly Upstream[]): ModelRoute {
  return {
    ...rules,
    targets: to.flatMap(({ upstream: name, model, weight }) => {
      const upstream = upstreams.find((one) => one.name === name)
      return upstream === undefined ? [] : [{ upstream, model, weight }]
    }),
  }
}

function sortedBy<Found extends OrderedRoute>(
  rules: ModelRoute,
  found: readonly Found[],
  call: OrderedCall,
  { circuits, quote }: RouteTableOptions,
): readonly Found[] {
  const targetOf = (route: Found): RouteTarget | undefined => rules.targets[route.choice?.place ?? 0]
  switch (rules.order) {
    case 'listed':
      return found
    case 'health':
      return sorted(found, ({ upstream }) => circuits.illnessOf(upstream.name))
    case 'price':
      return sorted(found, (route) => {
        const target = targetOf(route)
        const pico = target === undefined ? null : quote(target, call.caller.clientName)
        return pico === null ? Number.POSITIVE_INFINITY : Number(pico)
      })
    case 'weight': {
      const seed = stickyTo(rules, call)
      return sorted(found, (route) => {
        const target = targetOf(route)
        const share =
          seed === null ? Math.random() : shareOf(`${seed}\0${target?.upstream.name}\0${target?.model}`)
        // The lowest of such numbers is a target's as often as its weight says, and stays its while others come and go.
        return -Math.log(Math.max(share, Number.MIN_VALUE)) / (target?.weight ?? 1)
      })
    }
    default:
      return rules.order satisfies never
  }
}

function sorted<Found>(found: readonly Found[], rank: (route: Found) => number): readonly Found[] {
  return found
    .map((route) => ({ route, at: rank(route) }))
    .toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    .map(({ route }) => route)
}

/** Headers by which client libraries tell a session from another. */
const SESSION_HEADERS = ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id']

/** `null`: to nothing. */
function stickyTo({ model, sticky }: ModelRoute, { caller, request }: OrderedCall): string | null {
  if (sticky === null) return null
  const named =
    sticky === 'client' ? undefined : SESSION_HEADERS.map((name) => request.headers[name]).find(Boolean)
  return `${model}\0${caller.clientId}\0${named ?? ''}`
}

/** A number from 0 to 1 that is the same for the same text. */
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32
}
