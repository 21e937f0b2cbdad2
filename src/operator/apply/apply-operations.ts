import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import type { AlertReceiver, NewReceiver } from '../../alerts/receivers.ts'
import type { Client } from '../../keys/clients.ts'
import type { GroupInTree } from '../../keys/groups/groups.ts'
import type { NewKey, StoredKey } from '../../keys/keys.ts'
import { selectMemberIds } from '../../limits/members/members.ts'
import type { LimitDocument } from '../../limits/operations/limit-answers.ts'
import type { TriedDocument } from '../../limits/operations/tried.ts'
import {
  shownChoice,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import type { Actor } from '../../operations/audit/audit-table.ts'
import { runOperation } from '../../operations/audit/run-operation.ts'
import { flagField, textField } from '../../operations/fields.ts'
import { type AnyOperation, type Chapter, operation, Part } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { checkTogether } from '../../operations/read-input.ts'
import { conflict } from '../../operations/refuse.ts'
import type { KeptContract } from '../../pricing/contracts/contracts-table.ts'
import type { BillingCustomer } from '../../statements/billing/billing-state.ts'
import type { Charge } from '../../usage/charges/charge.ts'
import { type ApplyStep, declaredKeyPlace } from './apply-step.ts'
import { type Declared, type FindReference, readDeclared } from './declared.ts'
import { type ApplyPlan, nameOfPlan, planApply } from './plan.ts'

/** What these operations use beside what the operations of their steps do. */
export interface ApplyPorts extends Ports {
  /** `null`: references are refused, as a caller over HTTP may not read this machine. */
  readonly findReference: FindReference | null
}

const MOST_BYTES = 1024 * 1024

const CHANGE = z.strictObject({
  action: shownChoice(['create', 'change', 'remove'], 'What is done. Nothing is removed without prune.'),
  what: shownChoice(
    ['group', 'client', 'key', 'limit', 'receiver', 'contract', 'charge', 'customer'],
    'Of what. customer: who a client is in a billing system.',
  ),
  name: shownText('Its name: acme, acme/production, acme: budget per month.'),
  detail: shownTextOrNull('From what to what. null: the name says it.'),
})
const PLAN = {
  plan: shownText('Tells this plan: another one has another text.'),
  changes: shownList(CHANGE, 'In the order in which they are made. Empty: everything is as declared.'),
  left: shownList(z.string(), 'What is there, and not in the file: prune removes it.'),
}
const SHOWN_PLAN = shownDocument('Plan', PLAN)
const APPLIED = shownDocument('Applied', {
  ...PLAN,
  secrets: shownList(
    z.strictObject({
      what: shownChoice(['key', 'receiver'], 'Of what.'),
      name: shownText('Its name, as in changes.'),
      id: shownText('Its id.'),
      secret: shownText('The key, or what signs the alerts, shown this once.'),
    }),
    'Of what was made. Empty, too, where they were written into a file.',
  ),
})

type ShownPlan = z.output<typeof SHOWN_PLAN>
type Applied = z.output<typeof APPLIED>

const INPUT = {
  document: z
    .string('must be a text')
    .max(MOST_BYTES, 'must be at most 1 MiB')
    .describe(
      'YAML with groups, clients, defaults, alerts, contracts, charges and billing, as docs/apply.md has them.',
    ),
  prune: flagField(
    'What is there and not in the file goes: keys are revoked, clients disabled, groups removed. Only in sections that the file has.',
  ).default(false),
}
const COMMAND_OPTIONS = { document: '-f, --file <file>' }

/** @param operations Those of all chapters: each step is one of them. */
export function applyChapters<Has extends ApplyPorts>(
  operations: readonly AnyOperation<Has>[],
): readonly Chapter<Has>[] {
  const named = (name: string): AnyOperation<Has> => {
    const found = operations.find((one) => one.name === name)
    if (found === undefined) throw new Error(`there is no operation ${name}`)
    return found
  }

  /** Runs an operation with checked fields. */
  async function run(ports: Has, name: string, input: Readonly<Record<string, unknown>>, actor: Actor) {
    const chosen = named(name)
    checkTogether(chosen, input)
    const done = await runOperation(chosen, ports, input, actor)
    return done instanceof Part ? done.answer : done
  }

  /** Those of the months of declared charges. */
  async function chargesOf(ports: Has, { charges = [] }: Declared, actor: Actor) {
    const found: { readonly charge: Charge }[] = []
    for (const month of new Set(charges.map(({ from }) => from.slice(0, 7))))
      found.push(...((await run(ports, 'charges.list', { month }, actor)) as typeof found))
    return found
  }

  async function plan(
    ports: Has,
    { document, prune }: { readonly document: string; readonly prune: boolean },
    actor: Actor,
  ): Promise<ApplyPlan> {
    const declared = readDeclared(document, named('alerts.add').input, ports.findReference)
    const clients = (await run(ports, 'clients.list', {}, actor)) as readonly Client[]
    const groups = (await run(ports, 'groups.list', {}, actor)) as readonly GroupInTree[]
    const limits: LimitDocument[] = []
    const limitedOf = <
      One extends { readonly name: string; readonly limits?: readonly unknown[] | undefined },
    >(
      wanted: readonly One[] | undefined,
      there: readonly { readonly name: string }[],
    ) =>
      (wanted ?? []).filter((one) => one.limits !== undefined && there.some(({ name }) => name === one.name))
    const asked = [
      ...(declared.defaults?.limits === undefined ? [] : [{ default: true }]),
      ...limitedOf(declared.clients, clients).map(({ name }) => ({ client: name })),
      ...limitedOf(declared.groups, groups).map(({ name }) => ({ group: name })),
    ]
    for (const of of asked) {
      const found = (await run(ports, 'limits.list', of, actor)) as readonly LimitDocument[]
      // Of a client, the defaults that hold for it are shown, too.
      limits.push(...found.filter(({ client }) => client === ('client' in of ? of.client : null)))
    }
    const standing = {
      groups,
      clients,
      keys: (await run(ports, 'keys.list', {}, actor)) as readonly StoredKey[],
      limits,
      tried: (await run(ports, 'limits.tried', {}, actor)) as readonly TriedDocument[],
      receivers: (await run(ports, 'alerts.list', {}, actor)) as readonly AlertReceiver[],
      contracts:
        declared.contracts === undefined
          ? []
          : ((await run(ports, 'contracts.list', {}, actor)) as readonly KeptContract[]),
      charges: await chargesOf(ports, declared, actor),
      customers:
        declared.billing === undefined
          ? []
          : ((await run(ports, 'billing.customers', {}, actor)) as readonly BillingCustomer[]),
      members: await selectMemberIds(ports.pool),
    }
    return planApply(declared, standing, prune, ports.now())
  }

  const diff = operation({
    name: 'diff',
    summary: 'Shows what apply would change.',
    role: 'admin',
    http: { method: 'POST', path: '/diff', id: 'diff', body: 'Declaration', bodyLimitBytes: 2 * MOST_BYTES },
    input: INPUT,
    answer: SHOWN_PLAN,
    gives: 'The plan.',
    errors: ['conflict'],
    isLong: true,
    run: async (ports: Has, asked, _, actor) => shownPlan(await plan(ports, asked, actor)),
    command: {
      words: 'diff',
      options: COMMAND_OPTIONS,
      print: (found) => planText(found),
      exitCode: ({ changes }) => (changes.length === 0 ? 0 : 2),
    },
  })

  const apply = operation({
    name: 'apply',
    summary:
      'Makes groups, clients, keys, limits and alerts as a file declares them. Run twice, it changes nothing.',
    description: 'Cut in the middle, the same run again leads to the same end.',
    role: 'admin',
    http: {
      method: 'POST',
      path: '/apply',
      id: 'apply',
      body: 'DeclarationToApply',
      bodyLimitBytes: 2 * MOST_BYTES,
      without: ['secrets_to'],
    },
    input: {
      ...INPUT,
      plan: textField('Only if the plan is still the one that diff showed.', 'plan').optional(),
      secrets_to: textField(
        'New secrets are added to this file, one JSON document a line. Without it: they are shown.',
        'path',
      ).optional(),
    },
    answer: APPLIED,
    gives: 'What was changed, and the secrets of what was made.',
    errors: ['conflict', 'not_found'],
    isLong: true,
    async run(ports: Has, asked, _, actor) {
      const planned = await plan(ports, asked, actor)
      const shown = shownPlan(planned)
      if (asked.plan !== undefined && asked.plan !== shown.plan)
        throw conflict(`The plan is ${shown.plan} by now.`, 'plan', 'diff shows it')
      const keys = new Map(planned.keys)
      const secrets: Applied['secrets'][number][] = []
      const progress = ports.progress('changes')
      for (const [index, step] of planned.steps.entries()) {
        progress.at(step.name, index)
        const input = step.input(keys)
        const made = await run(ports, step.operation, input, actor)
        const secret = secretOf(step, made)
        if (secret === null) continue
        if (secret.what === 'key') keys.set(declaredKeyPlace(input.client, input.name), secret.id)
        // At once: what is cut behind it has its secret all the same.
        if (asked.secrets_to === undefined) secrets.push(secret)
        else appendFileSync(asked.secrets_to, `${JSON.stringify(secret)}\n`, { mode: 0o600 })
      }
      return { ...shown, secrets }
    },
    changes: {
      event: 'admin.applied',
      says: 'a declaration was applied',
      log: ({ plan: name, changes }) =>
        changes.length === 0 ? null : { plan: name, changes: changes.length },
      isAnnounced: true,
    },
    command: {
      words: 'apply',
      options: COMMAND_OPTIONS,
      print: (found) =>
        [
          planText(found),
          ...found.secrets.map(({ what, name, secret }) => `${what} ${name}, shown this once: ${secret}`),
        ].join('\n'),
    },
  })

  return [
    { words: 'diff', about: diff.summary, operations: [diff] },
    { words: 'apply', about: apply.summary, operations: [apply] },
  ]
}

function shownPlan(planned: ApplyPlan): ShownPlan {
  return {
    plan: nameOfPlan(planned),
    changes: planned.steps.map(({ action, what, name, detail }) => ({ action, what, name, detail })),
    left: planned.left,
  }
}

/** The secret of what a step made; `null`: it made none, or the file has it. */
function secretOf(
  { operation: name, what, name: of, input }: ApplyStep,
  made: unknown,
): Applied['secrets'][number] | null {
  if (name === 'keys.create') {
    const { id, key } = made as NewKey
    return { what: 'key', name: of, id, secret: key }
  }
  if (name !== 'alerts.add' || input(new Map()).secret !== undefined) return null
  const { id, secret } = made as NewReceiver
  return { what: what === 'receiver' ? what : 'receiver', name: of, id, secret }
}

const SIGNS = { create: '+', change: '~', remove: '-' } as const

function planText({ plan, changes, left }: ShownPlan): string {
  const lines = changes.map(
    ({ action, what, name, detail }) =>
      `${SIGNS[action]} ${what} ${name}${detail === null ? '' : `  ${detail}`}`,
  )
  const rest = left.map((one) => `  ${one} is not in the file; --prune removes it`)
  const end = changes.length === 0 ? 'Nothing to change.' : `${changes.length} changes, plan ${plan}`
  return [...lines, ...rest, end].join('\n')
}
