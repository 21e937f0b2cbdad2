import { parseDocument, visit } from 'yaml'
import { z } from 'zod'
import { createClientOperation } from '../../keys/operations/clients.ts'
import { createGroupOperation } from '../../keys/operations/groups.ts'
import { createKeyOperation } from '../../keys/operations/keys.ts'
import { setLimit } from '../../limits/operations/limits.ts'
import { flagField, textField } from '../../operations/fields.ts'
import type { InputOf, OperationFields } from '../../operations/operation.ts'
import { parseFields } from '../../operations/read-input.ts'
import { invalid } from '../../operations/refuse.ts'
import { CONTRACT_FIELDS } from '../../pricing/operations/contracts.ts'
import { mapClient } from '../../statements/billing/customer-operations.ts'
import { CHARGE_FIELDS } from '../../usage/operations/charges.ts'

/** What a file declares: each item has the fields of the operation that makes it, but for those its place says. */
const { client: _ofKey, ...KEY } = createKeyOperation.input
const { client: _ofLimit, group: _ofGroup, ...OF_LIMIT } = setLimit.input
const LIMIT = {
  ...OF_LIMIT,
  tried: flagField('The limit is tried: it refuses nothing.').default(false),
}

const CLIENT = {
  name: createClientOperation.input.name,
  disabled: flagField('All of its keys are refused.').default(false),
  group: textField('The group that it is in. null: none. Without it: it stays where it is.')
    .nullable()
    .optional(),
  keys: z.array(z.strictObject(KEY), 'must be a list').optional(),
  limits: z.array(z.strictObject(LIMIT), 'must be a list').optional(),
}

const GROUP = {
  name: createGroupOperation.input.name,
  into: createGroupOperation.input.into,
  limits: z.array(z.strictObject(LIMIT), 'must be a list').optional(),
}

const fieldsOf = (receiver: OperationFields) => ({
  groups: z.array(z.strictObject(GROUP), 'must be a list').optional(),
  clients: z.array(z.strictObject(CLIENT), 'must be a list').optional(),
  defaults: z
    .strictObject(
      { limits: z.array(z.strictObject(LIMIT), 'must be a list').optional() },
      'must be an object',
    )
    .optional(),
  alerts: z.array(z.strictObject(receiver), 'must be a list').optional(),
  contracts: z.array(z.strictObject(CONTRACT_FIELDS), 'must be a list').optional(),
  charges: z.array(z.strictObject(CHARGE_FIELDS), 'must be a list').optional(),
  billing: z.array(z.strictObject(mapClient.input), 'must be a list').optional(),
})

export type DeclaredGroup = InputOf<typeof GROUP>
export type DeclaredClient = InputOf<typeof CLIENT>
export type DeclaredKey = NonNullable<DeclaredClient['keys']>[number]
export type DeclaredLimit = NonNullable<DeclaredClient['limits']>[number]
export type DeclaredContract = InputOf<typeof CONTRACT_FIELDS>
export type DeclaredCharge = InputOf<typeof CHARGE_FIELDS>
export type DeclaredCustomer = InputOf<typeof mapClient.input>
export interface DeclaredReceiver {
  readonly url: string
  readonly on: readonly string[]
  readonly format: string
  readonly thresholds: readonly number[]
  readonly client?: string
  readonly secret?: string
}

/** A section that is absent is left alone: what is there stays, whatever `prune` says. */
export interface Declared {
  readonly groups?: readonly DeclaredGroup[]
  readonly clients?: readonly DeclaredClient[]
  readonly defaults?: { readonly limits?: readonly DeclaredLimit[] }
  readonly alerts?: readonly DeclaredReceiver[]
  readonly contracts?: readonly DeclaredContract[]
  readonly charges?: readonly DeclaredCharge[]
  /** Who clients are in billing systems. */
  readonly billing?: readonly DeclaredCustomer[]
}

/** Gives the text that a reference such as `${NAME}` or `file:/path` stands for. @throws {Error} Where there is none. */
export type FindReference = (reference: string) => string

const REFERENCE = /^(?:\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+)$/

/** What an alias stands for is looked for in the whole document: thousands would hold up the process for seconds. */
const MOST_ALIASES = 100

/**
 * Reads the YAML of a file. The parser compares each key with all others of its place, so doubles are looked for here.
 *
 * @param receiver The fields of the operation that adds a receiver of alerts.
 * @param findReference `null`: references are refused, as a caller over HTTP may not read this machine.
 * @throws {GatewayError} `invalid_request` that names the place at fault.
 */
export function readDeclared(
  text: string,
  receiver: OperationFields,
  findReference: FindReference | null,
): Declared {
  const document = parseDocument(text, { uniqueKeys: false })
  const [mistake] = document.errors
  if (mistake !== undefined) throw invalid('document', `is not YAML: ${mistake.message.split('\n')[0]}`)
  let aliases = 0
  visit(document, {
    Alias() {
      aliases += 1
      if (aliases > MOST_ALIASES) throw invalid('document', `has more than ${MOST_ALIASES} aliases`)
    },
    Map(_, { items }) {
      const names = new Set<string>()
      for (const { key } of items) {
        const name = String(key)
        if (names.has(name)) throw invalid('document', `has the key ${name} twice in one place`)
        names.add(name)
      }
    },
    Scalar(_, node) {
      const { value } = node
      if (typeof value !== 'string' || !REFERENCE.test(value)) return
      if (findReference === null)
        throw invalid('document', `has the reference ${value}: send the text itself, or use the command line`)
      node.value = findReference(value)
    },
  })
  const declared = parseFields(fieldsOf(receiver), plainOf(document) ?? {}) as Declared
  const { groups = [], clients = [], defaults = {} } = declared
  refuseDoubles(
    'groups',
    groups.map(({ name }) => name),
  )
  refuseDoubles(
    'clients',
    clients.map(({ name }) => name),
  )
  for (const [index, { keys = [], limits = [] }] of clients.entries()) {
    refuseDoubles(
      `clients.${index}.keys`,
      keys.map(({ name }) => name),
    )
    checkLimits(`clients.${index}.limits`, limits)
  }
  const ofNoClient = [
    { place: 'defaults.limits', limits: defaults.limits ?? [] },
    ...groups.map(({ limits = [] }, index) => ({ place: `groups.${index}.limits`, limits })),
  ]
  for (const { place, limits } of ofNoClient) {
    for (const [index, { key }] of limits.entries())
      if (key !== undefined) throw invalid(`${place}.${index}.key`, 'needs a client')
    checkLimits(place, limits)
    if (place.startsWith('groups'))
      for (const [index, { tried }] of limits.entries())
        if (tried) throw invalid(`${place}.${index}.tried`, 'does not go with groups, which no replay knows')
  }
  refuseDoubles('contracts', (declared.contracts ?? []).map(callsOf))
  refuseDoubles(
    'charges',
    (declared.charges ?? []).map(({ name }) => name),
  )
  refuseDoubles('billing', (declared.billing ?? []).map(nameOfCustomer))
  return declared
}

function checkLimits(place: string, limits: readonly DeclaredLimit[]): void {
  for (const [index, { tried, axis, soft }] of limits.entries()) {
    if (!tried) continue
    if (axis !== undefined)
      throw invalid(`${place}.${index}.tried`, 'does not go with axis, which no replay knows')
    if (soft) throw invalid(`${place}.${index}.tried`, 'does not go with soft: neither refuses anything')
  }
  refuseDoubles(place, limits.map(sortOf))
}

/** @throws {GatewayError} An alias names nothing, or aliases within aliases would become too much. */
function plainOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS()
  } catch (error) {
    if (error instanceof ReferenceError) throw invalid('document', `is not YAML: ${error.message}`)
    throw error
  }
}

function refuseDoubles(place: string, names: readonly string[]): void {
  const again = names.find((name, index) => names.indexOf(name) !== index)
  if (again !== undefined) throw invalid(place, `has ${again} twice`)
}

/** A limit replaces one of the same sort. */
export function sortOf(
  limit: Pick<DeclaredLimit, 'kind' | 'per' | 'soft' | 'key' | 'model' | 'axis' | 'value' | 'tried'>,
): string {
  const { kind, per, soft, key, model, axis, value, tried } = limit
  return [
    `${tried ? 'tried ' : ''}${soft ? 'soft ' : ''}${kind}`,
    ...(per === undefined ? [] : [`per ${per}`]),
    ...(key === undefined ? [] : [`of key ${key}`]),
    ...(model === undefined ? [] : [`of ${model}`]),
    ...(axis === undefined ? [] : [value === undefined ? `of each ${axis}` : `of ${axis}=${value}`]),
  ].join(' ')
}

/** A client is one customer of a system. */
export function nameOfCustomer({ receiver, client }: Pick<DeclaredCustomer, 'receiver' | 'client'>): string {
  return `${client} at ${receiver}`
}

/** A contract replaces one of the same calls and day. */
export function callsOf(
  contract: Pick<DeclaredContract, 'upstream' | 'model' | 'service_tier' | 'from'>,
): string {
  const { upstream, model = 'all models', service_tier: tier, from } = contract
  return [
    model,
    ...(upstream === undefined ? [] : [`at ${upstream}`]),
    ...(tier === undefined ? [] : [tier]),
    `from ${from}`,
  ].join(' ')
}
