import type { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { textField } from '../../operations/fields.ts'
import { changeOf, type Listing, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict, notFound } from '../../operations/refuse.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { renderTerms } from '../limit-document.ts'
import { selectTriedClients, sumTriedDays, type TriedClient, type TriedSums } from '../tried/tried-days.ts'
import {
  dropTried,
  enforceTried,
  MOST_TRIED,
  selectTried,
  type TriedLimit,
  tryLimit,
} from '../tried/tried-table.ts'
import { describeLimit, SHOWN_LIMIT, TERMS } from './limit-answers.ts'
import { AMOUNTS, checkScope, readOneOrder, SCOPE, scopeOf } from './limit-commands.ts'
import { SETTINGS } from './limit-terms.ts'
import { changed, getShown } from './limits.ts'
import { LIMIT_ID } from './list-limits.ts'

const SUMS = {
  calls: shownCount('Calls that the limit is about.'),
  refused_calls: shownCount('Of these, those that it would have refused.'),
  refused_usd: shownText('What those cost.'),
}
const TRIED_TERMS = {
  ...{ key: TERMS.key, former_keys: TERMS.former_keys, model: TERMS.model, kind: TERMS.kind },
  ...{ limit: TERMS.limit, per: TERMS.per, since: TERMS.since, cached: TERMS.cached },
  ...{ unpriced: TERMS.unpriced, when_alone: TERMS.when_alone },
}

const SHOWN_TRIED = shownDocument('TriedLimit', {
  id: shownText('The number of the tried limit. Limits that hold have others.'),
  client: shownTextOrNull('The name of the client. null: the default of all clients that have none like it.'),
  ...TRIED_TERMS,
  from: shownDay('The first UTC day whose calls it is tried on.'),
  ...SUMS,
  first_refused_at: shownMomentOrNull('The first call that it would have refused. null: none.'),
  last_refused_at: shownMomentOrNull('The last one. null: none.'),
  counted_at: shownMomentOrNull('The time of the last count. null: nothing is counted yet.'),
  today: shownDocument('TriedToday', {
    ...SUMS,
    clients: shownList(
      shownDocument('TriedClient', {
        client: shownText('The name of the client.'),
        ...{ refused_calls: SUMS.refused_calls, refused_usd: SUMS.refused_usd },
      }),
      'Those with most refused calls, at most ten.',
    ),
  })
    .nullable()
    .describe('The same of this UTC day. null: nothing of it is counted yet.'),
})

export type TriedDocument = z.output<typeof SHOWN_TRIED>

const ID = textField('The number that limits tried shows.', 'id')
const LISTING: Listing<TriedDocument> = {
  empty: 'No limit is tried. Try one: limits try --help',
  columns: [
    { heading: 'ID', align: 'right', cell: ({ id }) => id },
    { heading: 'CLIENT', cell: (one) => one.client ?? '(default)' },
    { heading: 'KEY', cell: (one) => one.key ?? '' },
    { heading: 'MODEL', cell: (one) => one.model ?? '' },
    { heading: 'LIMIT', cell: textOf },
    { heading: 'FROM', cell: ({ from }) => from },
    { heading: 'REFUSED TODAY', align: 'right', cell: ({ today }) => `${today?.refused_calls ?? '-'}` },
    { heading: 'USD', align: 'right', cell: ({ today }) => today?.refused_usd ?? '-' },
    {
      heading: 'IN ALL',
      align: 'right',
      cell: (one) => `${one.counted_at === null ? '-' : one.refused_calls}`,
    },
    { heading: 'USD', align: 'right', cell: (one) => (one.counted_at === null ? '-' : one.refused_usd) },
    {
      heading: 'LAST REFUSED',
      cell: ({ last_refused_at: at }) => (at === null ? '' : `${at.slice(0, 19)}Z`),
    },
  ],
}

export const tryOperation = operation({
  name: 'limits.try',
  summary:
    'Tries a limit of a client, key or model: nothing is refused, and workers count what it would have refused.',
  description:
    'From this UTC day on, over the calls that are kept, and as if no other limit were tried. One like it that is tried already is replaced. Limits of groups and of values of axes cannot be replayed, so they cannot be tried.',
  role: 'write',
  http: { method: 'POST', path: '/limits/tried', id: 'tryLimit', body: 'LimitToTry' },
  input: {
    ...{ client: SCOPE.client, default: SCOPE.default, key: SCOPE.key, model: SCOPE.model },
    ...{ budget: AMOUNTS.budget, per: AMOUNTS.per, rpm: AMOUNTS.rpm, tpm: AMOUNTS.tpm },
    ...{ concurrent: AMOUNTS.concurrent, ...SETTINGS },
  },
  check: checkScope,
  answer: SHOWN_TRIED,
  gives: 'The limit as it is tried.',
  errors: ['not_found', 'conflict'],
  changes: changeOf('admin.limit_tried', 'a limit is tried', 'tried'),
  command: {
    words: 'limits try',
    print: (one) => `${whose(one)}: ${textOf(one)}. Tried from ${one.from} on: ${one.id}.`,
  },
  async run(ports: Ports, asked) {
    const { pool, now } = ports
    const today = utcDayOf(now())
    const order = readOneOrder(asked, today, 'one is tried at a time')
    const id = await tryLimit(pool, await scopeOf(ports, asked), order, today)
    if (id === null)
      throw conflict(`${MOST_TRIED} limits are tried at a time.`, undefined, 'limits drop ends one')
    if ((await selectCallDays(pool)).size === 0)
      ports.remark('no calls are kept (CALL_RETENTION_DAYS), so nothing can be counted')
    return await getTried(ports, id)
  },
})

export const listTried = operation({
  name: 'limits.tried',
  summary: 'Shows the limits that are tried, and what each would have refused.',
  role: 'read',
  http: { method: 'GET', path: '/limits/tried', id: 'listTriedLimits' },
  input: {},
  answer: shownList(SHOWN_TRIED),
  gives: 'The limits, in the order in which they were made.',
  command: { words: 'limits tried', print: LISTING },
  run: (ports: Ports) => listAll(ports),
})

export const dropOperation = operation({
  name: 'limits.drop',
  summary: 'Ends the trial of a limit, and drops what it would have refused.',
  role: 'write',
  http: { method: 'DELETE', path: '/limits/tried/{id}', id: 'dropTriedLimit' },
  input: { id: ID },
  answer: SHOWN_TRIED,
  gives: 'The limit as it was tried.',
  errors: ['not_found'],
  changes: changeOf('admin.limit_tried', 'a limit is tried no more', 'tried'),
  command: {
    words: 'limits drop',
    options: { id: '<id>' },
    print: (one) => `${whose(one)}: ${textOf(one)}. Tried no more.`,
  },
  async run(ports: Ports, { id }) {
    const shown = await getTried(ports, id)
    await dropTried(ports.pool, id)
    return shown
  },
})

export const enforceOperation = operation({
  name: 'limits.enforce',
  summary: 'Sets a limit that was tried, in the place of the one like it: it refuses calls from now on.',
  description: 'What it would have refused is dropped.',
  role: 'write',
  http: { method: 'POST', path: '/limits/tried/{id}/enforce', id: 'enforceTriedLimit' },
  input: { id: ID },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it stands.',
  errors: ['not_found'],
  changes: changed('limit set'),
  command: {
    words: 'limits enforce',
    options: { id: '<id>' },
    print: (limit) => `${whose(limit)}: ${describeLimit(limit)}. It holds from now on: ${limit.id}.`,
  },
  async run(ports: Ports, { id }, who) {
    const limit = LIMIT_ID.test(id) ? await enforceTried(ports.pool, id, who) : null
    if (limit === null) throw noneTried(id)
    return await getShown(ports, limit.id)
  },
})

async function getTried(ports: Ports, id: string): Promise<TriedDocument> {
  const shown = (await listAll(ports)).find((one) => one.id === id)
  if (shown === undefined) throw noneTried(id)
  return shown
}

function noneTried(id: string) {
  return notFound(`No limit ${id} is tried.`, undefined, 'limits tried lists them')
}

async function listAll({ pool, now }: Ports): Promise<TriedDocument[]> {
  const today = utcDayOf(now())
  const tried = await selectTried(pool)
  const all = await sumTriedDays(pool, null)
  const ofToday = await sumTriedDays(pool, { fromDay: today, toDay: today })
  const clients = Map.groupBy(await selectTriedClients(pool, today), (one) => one.limit_id)
  return tried.map((one) =>
    render(one, all.get(one.limit.id), ofToday.get(one.limit.id), clients.get(one.limit.id) ?? []),
  )
}

function render(
  { limit, client: name, fromDay }: TriedLimit,
  all: TriedSums | undefined,
  ofToday: TriedSums | undefined,
  clients: readonly TriedClient[],
): TriedDocument {
  const {
    key,
    former_keys,
    model,
    kind,
    limit: amount,
    per,
    since,
    cached,
    unpriced,
    when_alone,
  } = renderTerms(limit)
  return {
    id: limit.id,
    client: name,
    ...{ key, former_keys, model, kind, limit: amount, per, since, cached, unpriced, when_alone },
    from: fromDay,
    ...sumsOf(all),
    first_refused_at: all?.firstRefusedAt?.toISOString() ?? null,
    last_refused_at: all?.lastRefusedAt?.toISOString() ?? null,
    counted_at: all?.countedAt.toISOString() ?? null,
    today:
      ofToday === undefined
        ? null
        : {
            ...sumsOf(ofToday),
            clients: clients.map(({ client: one, refused, pico }) => ({
              ...{ client: one, refused_calls: Number(refused), refused_usd: picoToUsdText(BigInt(pico)) },
            })),
          },
  }
}

function sumsOf(sums: TriedSums | undefined) {
  const { calls = 0, refused = 0, refusedPico = 0n } = sums ?? {}
  return { calls, refused_calls: refused, refused_usd: picoToUsdText(refusedPico) }
}

function whose({ client: name }: { readonly client: string | null }): string {
  return name ?? '(default)'
}

function textOf(tried: TriedDocument): string {
  return describeLimit({ ...tried, soft: false, raised_to: null, raised_until: null })
}
