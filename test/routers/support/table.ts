import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Fixture, RIGHT_COST, type Target } from './fixture.ts'
import type { Answer } from './raw-client.ts'
import type { Served, Witness } from './routers.ts'

/** One request of a table, and how it is sent. */
export interface Attack {
  readonly name: string
  readonly target: Target
  /** What goes out, for the reader of a failure. */
  readonly shown: string
  /** `probe` is to be sent as the header `x-probe`. */
  send(url: string, probe: string): Promise<Answer>
  /** The same to the router itself, past the gateway; left out: not tried. */
  sendDirectly?(url: string, probe: string): Promise<Answer>
  /** The answer has no body, so that no reader can find its usage: then the row must say that it does not know. */
  readonly bodiless?: boolean
}

/** The row of a call. */
export interface Row {
  readonly call_id: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  readonly cost_pico: string | null
  readonly usage_source: string
  readonly outcome: string
  readonly status: number | null
  readonly model: string
}

/**
 * `counted`: served, and its row has the usage and the cost to the last pico-dollar. `refused`: by the gateway itself,
 * and the upstream never saw it. `not served`: the upstream had no answer of value. `flagged`: served without a body, and
 * its row says so, by an estimate or by no cost, rather than by 0. The rest are wrong: `FREE` was served and not counted, `TWICE` refused and
 * sent all the same, `LOST` has no row, `UNANSWERED` no answer.
 */
export type Verdict =
  | 'counted'
  | 'refused'
  | 'not served'
  | 'flagged'
  | 'FREE'
  | 'TWICE'
  | 'LOST'
  | 'UNANSWERED'

export interface Judged {
  readonly attack: Attack
  readonly verdict: Verdict
  readonly answer: Answer
  readonly row: Row | null
  /** The endpoint that the router served; `null`: none. */
  readonly endpoint: string | null
  /** The model that it served; `null`: none. */
  readonly model: string | null
  /** Whether the upstream saw the request. */
  readonly seen: boolean
  /** Whether the router serves the form when it is asked directly. */
  readonly servedDirectly: boolean
}

const WRONG: readonly Verdict[] = ['FREE', 'TWICE', 'LOST', 'UNANSWERED']

const AT_ONCE = 6
const MAX_SHOWN = 20
const COUNTED_WITHIN_MS = 30_000
let probes = 0

/** Sends them all, waits until every call has its row, and judges each. */
export async function carryOut(fixture: Fixture, attacks: readonly Attack[]): Promise<readonly Judged[]> {
  const { stack } = fixture
  const sent: { attack: Attack; probe: string; answer: Answer }[] = []
  const queue = attacks.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const attack of queue) {
        probes += 1
        const probe = `probe-${process.pid}-${probes}`
        await attack.sendDirectly?.(attack.target.router.url, `${probe}-direct`)
        sent.push({ attack, probe, answer: await attack.send(stack.url, probe) })
      }
    }),
  )
  const rows = await rowsOf(
    fixture,
    sent.flatMap(({ answer }) => answer.callId ?? []),
  )
  const witnesses = new Map<string, Witness>()
  for (const { router } of new Set(attacks.map(({ target }) => target))) {
    if (!witnesses.has(router.url)) witnesses.set(router.url, await router.witness())
  }
  return sent.map(({ attack, probe, answer }) => {
    const witness = witnesses.get(attack.target.router.url)
    const row = rows.get(answer.callId ?? '') ?? null
    const served = witness?.served.get(probe)
    const seen = witness?.seen.has(probe) === true
    return {
      attack,
      verdict: verdictOf(attack, answer, row, runsModel(served), seen),
      answer,
      row,
      endpoint: served?.endpoint ?? null,
      model: runsModel(served) ? served.model : null,
      seen,
      servedDirectly: witness?.served.has(`${probe}-direct`) === true,
    }
  })
}

/** Lists of models and the like are served for nothing. */
function runsModel(served: Served | undefined): served is Served {
  return served !== undefined && served.model !== ''
}

function verdictOf(
  attack: Attack,
  { status, callId }: Answer,
  row: Row | null,
  served: boolean,
  seen: boolean,
): Verdict {
  if (status === null) return 'UNANSWERED'
  if (callId === null) {
    if (seen) return 'TWICE'
    return status >= 400 && status < 500 ? 'refused' : 'not served'
  }
  if (row === null) return 'LOST'
  if (!served) return 'not served'
  if (row.input_tokens === '1000' && row.output_tokens === '500' && row.cost_pico === RIGHT_COST)
    return 'counted'
  const isFlagged = row.usage_source === 'estimated' ? row.cost_pico !== '0' : row.cost_pico === null
  return attack.bodiless === true && isFlagged ? 'flagged' : 'FREE'
}

/**
 * The rows of these calls, with the row of a job that was submitted before and that they reported. Resolves
 * once the worker has them all, or with those that it has at the limit.
 */
async function rowsOf({ stack }: Fixture, callIds: readonly string[]): Promise<ReadonlyMap<string, Row>> {
  const until = performance.now() + COUNTED_WITHIN_MS
  while (true) {
    const { rows } = await stack.pool.query<Row>(
      `select c.call_id, u.input_tokens, u.output_tokens, u.cost_pico, u.usage_source, c.outcome, c.status, u.model
       from tallygate.calls c
       left join tallygate.calls settlement on settlement.told_by = c.call_id
       cross join lateral (select (case when settlement.call_id is null then c else settlement end).*) u
       where c.call_id = any($1)`,
      [callIds],
    )
    if (rows.length === callIds.length || performance.now() > until)
      return new Map(rows.map((row) => [row.call_id, row]))
    await delay(50)
  }
}

/** Fails with the requests and rows that are wrong. */
export function expectNoneFree(judged: readonly Judged[]): void {
  expectNone(judged.filter(({ verdict }) => WRONG.includes(verdict)))
}

/** Fails if there are any, and shows the first of them. */
export function expectNone(judged: readonly Judged[]): void {
  const shown = judged.slice(0, MAX_SHOWN).map(describeJudged)
  if (judged.length > MAX_SHOWN) shown.push(`and ${judged.length - MAX_SHOWN} more`)
  expect(shown).toEqual([])
}

/** One line: the request, the answer, and the row. */
function describeJudged({ attack, verdict, answer, row, endpoint, model }: Judged): string {
  const asRow =
    row === null
      ? 'no row'
      : `in=${row.input_tokens} out=${row.output_tokens} src=${row.usage_source} cost=${row.cost_pico} model=${row.model} ${row.outcome}`
  return `${verdict} | ${attack.target.name} | ${attack.name} | ${JSON.stringify(attack.shown)} | status ${answer.status} served ${endpoint} ${model} | ${asRow}`
}

/** How many of each verdict, by router. */
export function summaryOf(title: string, judged: readonly Judged[]): string {
  const verdicts: readonly Verdict[] = ['counted', 'refused', 'not served', 'flagged', ...WRONG]
  const routers = [...new Set(judged.map(({ attack }) => attack.target.name))]
  const count = (of: readonly Judged[], verdict: Verdict) =>
    of.filter((one) => one.verdict === verdict).length
  const line = (name: string, of: readonly Judged[]) => [
    name,
    `${of.length}`,
    `${of.filter(({ servedDirectly }) => servedDirectly).length}`,
    ...verdicts.map((verdict) => `${count(of, verdict)}`),
  ]
  const lines = [
    ['router', 'sent', 'served directly', ...verdicts],
    ...routers.map((name) =>
      line(
        name,
        judged.filter(({ attack }) => attack.target.name === name),
      ),
    ),
    line('all', judged),
  ]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  const text = lines.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths?.[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `\n${title}\n${text.join('\n')}\n`
}
