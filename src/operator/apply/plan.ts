import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AlertReceiver } from '../../alerts/receivers.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { Client } from '../../keys/clients.ts'
import type { GroupInTree } from '../../keys/groups/groups.ts'
import type { StoredKey } from '../../keys/keys.ts'
import type { LimitDocument } from '../../limits/operations/limit-answers.ts'
import type { TriedDocument } from '../../limits/operations/tried.ts'
import { conflict } from '../../operations/refuse.ts'
import type { KeptContract, NewContract } from '../../pricing/contracts/contracts-table.ts'
import { contractOf } from '../../pricing/operations/contracts.ts'
import type { BillingCustomer } from '../../statements/billing/billing-state.ts'
import type { Charge, NewCharge } from '../../usage/charges/charge.ts'
import { newChargeOf } from '../../usage/operations/charges.ts'
import { type ApplyStep, declaredKeyPlace, type KeyIds, step } from './apply-step.ts'
import {
  callsOf,
  type Declared,
  type DeclaredCharge,
  type DeclaredContract,
  type DeclaredCustomer,
  type DeclaredLimit,
  type DeclaredReceiver,
  nameOfCustomer,
} from './declared.ts'
import { planGroups } from './plan-groups.ts'
import { type LimitOwner, planLimits, standingLimit, standingTrial } from './plan-limits.ts'

/** What there is now, as the operations that list it found it. */
export interface PresentState {
  readonly groups: readonly GroupInTree[]
  readonly clients: readonly Client[]
  readonly keys: readonly StoredKey[]
  /** Of the declared clients and groups, and the defaults. */
  readonly limits: readonly LimitDocument[]
  /** Of all clients. */
  readonly tried: readonly TriedDocument[]
  readonly receivers: readonly AlertReceiver[]
  readonly contracts: readonly KeptContract[]
  /** Of the months that declared charges are of. */
  readonly charges: readonly { readonly charge: Charge }[]
  readonly customers: readonly BillingCustomer[]
  /** Ids of the clients of members, who sign in and are declared in no file. */
  readonly members: ReadonlySet<string>
}

export interface ApplyPlan {
  readonly steps: readonly ApplyStep[]
  /** What is there, and not in the file, in words. */
  readonly left: readonly string[]
  /** Ids of keys that are there. */
  readonly keys: KeyIds
}

/**
 * The steps from what there is to what is declared, in the order in which they need each other. They are made again from
 * what there is each time, so a run that was cut is taken up by the next one.
 *
 * @param prune What is not declared goes, in the sections that the file has.
 * @throws {GatewayError} `conflict` where no operation leads there.
 */
export function planApply(
  declared: Declared,
  standing: PresentState,
  prune: boolean,
  nowMs: number,
): ApplyPlan {
  const steps: ApplyStep[] = []
  const gone: ApplyStep[] = []
  const active = standing.keys.filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt.getTime() > nowMs),
  )
  const keys = new Map(active.map(({ client, name, id }) => [declaredKeyPlace(client, name), id]))

  for (const { name, disabled } of declared.clients ?? []) {
    const there = standing.clients.find((client) => client.name === name)
    if (there === undefined) steps.push(step('create', 'client', name, 'clients.create', () => ({ name })))
    if (disabled !== (there?.disabled ?? false)) {
      const [verb, from] = disabled ? ['disable', 'enabled'] : ['enable', 'disabled']
      const detail = `${from} -> ${verb}d`
      steps.push({ ...step('change', 'client', name, `clients.${verb}`, () => ({ id: name })), detail })
    }
  }
  steps.push(...planGroups(declared, standing, gone))
  for (const { name: client, keys: wanted } of declared.clients ?? []) {
    const own = active.filter((key) => key.client === client)
    for (const key of wanted ?? []) {
      const name = `${client}/${key.name}`
      const there = own.filter((one) => one.name === key.name)
      if (there.length === 0)
        steps.push(step('create', 'key', name, 'keys.create', () => ({ client, ...key })))
      for (const one of there) requireModels(name, one.models, key.models)
    }
    if (wanted === undefined) continue
    for (const { id, name } of own)
      if (!wanted.some((key) => key.name === name))
        gone.push(step('remove', 'key', `${client}/${name}`, 'keys.revoke', () => ({ id })))
  }
  const limited: { readonly owner: LimitOwner; readonly limits: readonly DeclaredLimit[] | undefined }[] = [
    { owner: { client: null }, limits: declared.defaults?.limits },
    ...(declared.clients ?? []).map(({ name, limits }) => ({ owner: { client: name }, limits })),
    ...(declared.groups ?? []).map(({ name, limits }) => ({ owner: { client: null, group: name }, limits })),
  ]
  const groupIds = new Map(standing.groups.map(({ id, name }) => [name, id]))
  for (const { owner, limits } of limited) {
    if (limits === undefined) continue
    const groupId = owner.group === undefined ? null : groupIds.get(owner.group)
    const own = standing.limits.filter(({ client, group }) => client === owner.client && group === groupId)
    const tried = groupId === null ? standing.tried.filter(({ client }) => client === owner.client) : []
    planLimits(owner, limits, [...own.map(standingLimit), ...tried.map(standingTrial)], keys, steps, gone)
  }
  if (declared.alerts !== undefined) planReceivers(declared.alerts, standing.receivers, steps, gone)
  if (declared.contracts !== undefined) planContracts(declared.contracts, standing.contracts, steps, gone)
  if (declared.charges !== undefined)
    planCharges(
      declared.charges,
      standing.charges.map(({ charge }) => charge),
      steps,
      gone,
    )
  if (declared.billing !== undefined) planCustomers(declared.billing, standing.customers, steps, gone)
  if (declared.clients !== undefined)
    for (const { id, name, disabled } of standing.clients)
      if (!disabled && !standing.members.has(id) && !declared.clients.some((client) => client.name === name))
        gone.push(step('remove', 'client', name, 'clients.disable', () => ({ id: name })))
  return {
    steps: prune ? [...steps, ...gone] : steps,
    left: prune ? [] : gone.map(({ what, name }) => `${what} ${name}`),
    keys,
  }
}

function requireModels(
  name: string,
  there: readonly string[] | null,
  wanted: readonly string[] | undefined,
): void {
  const shown = (models: readonly string[] | null | undefined) =>
    models === null || models === undefined ? 'all models' : [...new Set(models)].sort().join(', ')
  if (shown(there) === shown(wanted)) return
  throw conflict(
    `The key ${name} is for ${shown(there)}, and declared for ${shown(wanted)}: what a key may use stays, so declare one of another name.`,
  )
}

/** A receiver cannot be changed: one of the same URL and client goes before the declared one comes. */
function planReceivers(
  wanted: readonly DeclaredReceiver[],
  standing: readonly AlertReceiver[],
  steps: ApplyStep[],
  gone: ApplyStep[],
): void {
  const left = new Set(standing)
  const missing = wanted.filter((receiver) => {
    const same = [...left].find((one) => termsOf(one) === termsOfDeclared(receiver))
    if (same !== undefined) left.delete(same)
    return same === undefined
  })
  for (const receiver of missing) {
    const { url, client = null } = receiver
    const replaced = [...left].find((one) => one.url === url && one.client === client)
    const name = nameOfReceiver(receiver)
    if (replaced !== undefined) {
      left.delete(replaced)
      const { id } = replaced
      const detail = `${termsOf(replaced)} -> ${termsOfDeclared(receiver)}`
      steps.push({ ...step('change', 'receiver', name, 'alerts.remove', () => ({ id })), detail })
    }
    steps.push(step('create', 'receiver', name, 'alerts.add', () => ({ ...receiver })))
  }
  for (const { id, url, client } of left)
    gone.push(step('remove', 'receiver', nameOfReceiver({ url, client }), 'alerts.remove', () => ({ id })))
}

function planContracts(
  wanted: readonly DeclaredContract[],
  standing: readonly KeptContract[],
  steps: ApplyStep[],
  gone: ApplyStep[],
): void {
  const nameOf = ({ upstream, model, serviceTier, from }: NewContract) =>
    callsOf({
      ...{ from, ...(upstream === null ? {} : { upstream }), ...(model === null ? {} : { model }) },
      ...(serviceTier === null ? {} : { service_tier: serviceTier }),
    })
  const left = new Map(standing.map((contract) => [nameOf(contract), contract]))
  for (const contract of wanted) {
    const name = callsOf(contract)
    const there = left.get(name)
    left.delete(name)
    const [before, after] = [there === undefined ? null : payOf(there), payOf(contractOf(contract))]
    if (before === after) continue
    steps.push({
      ...step(before === null ? 'create' : 'change', 'contract', name, 'contracts.set', () => ({
        ...contract,
      })),
      detail: before === null ? after : `${before} -> ${after}`,
    })
  }
  for (const [name, { id }] of left)
    gone.push(step('remove', 'contract', name, 'contracts.remove', () => ({ id })))
}

/** Parts that were shared out go with what they are parts of. */
function planCharges(
  wanted: readonly DeclaredCharge[],
  standing: readonly Charge[],
  steps: ApplyStep[],
  gone: ApplyStep[],
): void {
  const own = standing.filter(({ sharedFrom }) => sharedFrom === null)
  for (const charge of wanted) {
    const { name, client = null } = charge
    const there = own.find((one) => one.name === name)
    const after = fieldsIn(newChargeOf(charge, null), client)
    const before = there === undefined ? null : fieldsIn(there, there.client)
    if (before !== null && isDeepStrictEqual(before, after)) continue
    const action = before === null ? 'create' : 'change'
    steps.push({
      ...step(action, 'charge', name, 'charges.set', () => ({ ...charge })),
      detail: before === null ? sayFields(after) : `${sayFields(before)} -> ${sayFields(after)}`,
    })
  }
  for (const { name } of own)
    if (!wanted.some((charge) => charge.name === name))
      gone.push(step('remove', 'charge', name, 'charges.remove', () => ({ name })))
}

/** A first day can only become earlier. */
function planCustomers(
  wanted: readonly DeclaredCustomer[],
  standing: readonly BillingCustomer[],
  steps: ApplyStep[],
  gone: ApplyStep[],
): void {
  const left = new Map(standing.map((customer) => [nameOfCustomer(customer), customer]))
  for (const declared of wanted) {
    const name = nameOfCustomer(declared)
    const there = left.get(name)
    left.delete(name)
    const { customer, subscription = null, from } = declared
    const day = there !== undefined && (from === undefined || there.from < from) ? there.from : (from ?? null)
    const after: Fields = [customer, subscription, day]
    const before: Fields | null =
      there === undefined ? null : [there.customer, there.subscription, there.from]
    if (before !== null && isDeepStrictEqual(before, after)) continue
    steps.push({
      ...step(before === null ? 'create' : 'change', 'customer', name, 'billing.map', () => ({
        ...declared,
      })),
      detail: before === null ? sayFields(after) : `${sayFields(before)} -> ${sayFields(after)}`,
    })
  }
  for (const [name, { receiver, client }] of left)
    gone.push(step('remove', 'customer', name, 'billing.unmap', () => ({ receiver, client })))
}

type Fields = readonly (string | null)[]

/** All that a charge says, each in its place: an upstream and a client may have one name. */
function fieldsIn(charge: NewCharge, client: string | null): Fields {
  const { category, service, from, to, upstream, model, quantity, unit, capacityTokens, reason } = charge
  return [
    ...[category, service, from === to ? from : `${from} to ${to}`],
    ...[upstream === null ? null : `at ${upstream}`, model, client === null ? null : `of ${client}`],
    ...[quantity, unit],
    ...[capacityTokens?.toString() ?? null, `${picoToUsdText(charge.amountPico)} USD`, reason],
  ]
}

function sayFields(fields: Fields): string {
  return fields.filter((one) => one !== null).join(', ')
}

/** What a contract says is paid, in words. */
function payOf({ factor, prices, reference }: NewContract): string {
  const named = Object.entries(prices)
    .sort()
    .map(([field, usd]) => `${field}=${usd}`)
  return [`${factor} of list`, ...named, ...(reference === '' ? [] : [reference])].join(', ')
}

/** The URL without what may be a secret: paths and queries of chat programs are. */
function nameOfReceiver({ url, client }: { readonly url: string; readonly client?: string | null }): string {
  const origin = URL.canParse(url) ? new URL(url).origin : url
  return `${origin}${(client ?? null) === null ? '' : ` of ${client}`}`
}

const termsOf = ({ url, client, format, kinds, thresholds }: AlertReceiver) =>
  JSON.stringify([url, client, format, [...kinds].sort(), [...thresholds].sort()])

const termsOfDeclared = ({ url, client, format, on, thresholds }: DeclaredReceiver) =>
  JSON.stringify([url, client ?? null, format, [...new Set(on)].sort(), [...new Set(thresholds)].sort()])

/** Tells a plan: another one has another. */
export function nameOfPlan({ steps }: Pick<ApplyPlan, 'steps'>): string {
  const said = steps.map(({ action, what, name, detail, operation }) => [
    action,
    what,
    name,
    detail,
    operation,
  ])
  return createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 12)
}
