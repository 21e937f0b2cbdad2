import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Deployment } from './deployment.ts'
import { type Account, LABEL, type Provider, picoOf, type Script, usdOf } from './provider.ts'

/** Whether what must hold did, and by which figures. */
export interface Verdict {
  readonly held: boolean
  readonly figures: string
}

/** One of the breaks that were found, by its letter. */
export interface Attack {
  readonly id: string
  readonly says: string
  /** Nothing else may run beside it. */
  readonly isAlone?: boolean
  readonly run: (world: World) => Promise<Verdict>
}

export type Body = string | Buffer | FormData | object | null

export interface Answer {
  readonly status: number
  readonly text: string
  /** Empty where it is not JSON. */
  readonly json: Readonly<Record<string, unknown>>
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** By its place. */
  readonly gateway?: number
}

/** A client who wants it for nothing. */
export interface Attacker {
  readonly key: string
  /** By which the provider knows it. */
  readonly label: string
  readonly account: Account
  ask(path: string, body?: Body, options?: AskOptions): Promise<Answer>
  /**
   * Asks and hangs up: once `text` has come; where it is a number, so many milliseconds after the provider was asked.
   * @returns The status; 0: no answer had begun.
   */
  leave(path: string, body: Body, text: string | number, options?: AskOptions): Promise<number>
  open(path: string, options?: AskOptions): WebSocket
  /** What the gateway says it used: dollars, and calls. */
  usage(): Promise<{ readonly costUsd: number; readonly requests: number; readonly chargedUsd: number }>
  rows(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export interface ClientOrder {
  /** A hard budget in total. */
  readonly budgetUsd?: number
  /** Tokens a minute. */
  readonly tokens?: number
  readonly models?: readonly string[]
  readonly script: Script
}

export interface JudgeOptions {
  readonly patienceMs?: number
  /** Booked has to be so much at least; absent: all that was served. */
  readonly atLeastUsd?: number
  /** No honest client asks so: it may be refused. */
  readonly mayRefuse?: boolean
}

export interface World {
  readonly urls: readonly string[]
  attacker(order: ClientOrder): Promise<Attacker>
  /**
   * Waits until a client's books are right, or no longer: exact; flagged and not below what was served; without a cost,
   * with a reason, and charged to the budget; or nothing was served at all.
   */
  judge(attacker: Attacker, more?: JudgeOptions): Promise<Verdict>
}

/** So long a report may lag, and a worker may take to fetch what runs behind its answer. */
const PATIENCE_MS = Number(process.env.ATTACKS_PATIENCE_MS ?? 25_000)

export function createWorld(deployment: Deployment, provider: Provider, prefix = 'attacker'): World {
  let made = 0
  const { urls, pool } = deployment
  return {
    urls,
    async attacker({ budgetUsd, tokens, models, script }) {
      made += 1
      const name = `${prefix}-${made}`
      const account = provider.serve(name, script)
      const { id } = await deployment.admin('/clients', { name })
      const { key } = await deployment.admin('/keys', { client: name, ...(models && { models }) })
      if (budgetUsd !== undefined)
        await deployment.admin('/limits', {
          client: name,
          kind: 'budget',
          per: 'total',
          limit: `${budgetUsd}`,
        })
      if (tokens !== undefined)
        await deployment.admin('/limits', { client: name, kind: 'tokens', limit: `${tokens}` })
      const attacker = connect(urls, { name, key: String(key), account }, async () => {
        const { rows } = await pool.query('select * from tallygate.calls where client_id = $1', [id])
        return rows
      })
      if (budgetUsd !== undefined || tokens !== undefined) await limitsRead(urls, String(key))
      return attacker
    },
    async judge(attacker, { patienceMs = PATIENCE_MS, atLeastUsd, mayRefuse = false } = {}) {
      const { account } = attacker
      const until = performance.now() + patienceMs
      if (account.asked.length === 0) return { held: mayRefuse, figures: 'refused' }
      for (;;) {
        const verdict = await judgeNow(attacker, atLeastUsd)
        if (verdict !== null && (verdict.held || performance.now() > until)) return verdict
        if (performance.now() > until)
          return {
            held: false,
            figures: `${account.running} calls run on, ${account.asked.length} were made`,
          }
        await delay(250)
      }
    },
  }
}

/** @returns `null`: something still runs, or is in no report yet. */
async function judgeNow(attacker: Attacker, atLeastUsd: number | undefined): Promise<Verdict | null> {
  const { account } = attacker
  if (account.running > 0) return null
  const [usage, rows] = await Promise.all([attacker.usage(), attacker.rows()])
  if (usage.requests < account.asked.length) return null
  const real = usdOf(account.pico)
  const least = atLeastUsd ?? real
  const sources = [...new Set(rows.map(({ usage_source: source }) => String(source)))]
  const missing = rows.filter(({ cost_pico: cost, settled }) => cost === null && settled !== true)
  const reasons = [...new Set(missing.map(({ unpriced_reason: reason }) => String(reason)))]
  const isFlagged = sources.some((source) => /estimated|partial/.test(source)) || rows.some(isPartly)
  const figures =
    `served for ${show(real)} USD, booked ${show(usage.costUsd)}` +
    (usage.chargedUsd > 0 ? ` and charged ${show(usage.chargedUsd)}` : '') +
    ` (${[...sources, ...reasons].join(', ')}${isFlagged ? ', flagged' : ''})`
  const isExact = atLeastUsd === undefined && Math.abs(usage.costUsd - real) < 1e-9
  const isEnough = isFlagged && usage.costUsd >= least - 1e-9 && usage.costUsd > 0
  const isCharged = missing.length > 0 && !reasons.includes('null') && usage.chargedUsd > 0
  return { held: (isExact && account.served > 0) || isEnough || isCharged, figures }
}

const isPartly = ({ partly_unpriced: partly }: Readonly<Record<string, unknown>>) => partly === true
export const show = (usd: number) => String(Number(usd.toPrecision(5)))

async function limitsRead(urls: readonly string[], key: string): Promise<void> {
  for (const url of urls) {
    for (;;) {
      const answer = await fetch(`${url}/v1/usage?include=limits`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { limits } = Object(await answer.json())
      if (Array.isArray(limits) && limits.length > 0) break
      await delay(100)
    }
  }
}

function connect(
  urls: readonly string[],
  { name, key, account }: { readonly name: string; readonly key: string; readonly account: Account },
  rows: Attacker['rows'],
): Attacker {
  const prepare = (body: Body, { headers = {} }: AskOptions) => {
    const isJson =
      body !== null && typeof body !== 'string' && !Buffer.isBuffer(body) && !(body instanceof FormData)
    return {
      body: isJson ? JSON.stringify(body) : (body as string | Buffer | FormData | null),
      headers: {
        authorization: `Bearer ${key}`,
        [LABEL]: name,
        ...(body === null || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    }
  }
  const urlOf = ({ gateway = 0 }: AskOptions) => urls[gateway] ?? ''
  return {
    key,
    label: name,
    account,
    rows,
    async ask(path, body = null, options = {}) {
      const { body: bytes, headers } = prepare(body, options)
      const method = options.method ?? (body === null ? 'GET' : 'POST')
      const answer = await fetch(urlOf(options) + path, { method, headers, body: bytes as string | null })
      const text = await answer.text()
      return { status: answer.status, text, json: parse(text) }
    },
    leave(path, body, when, options = {}) {
      const { body: bytes, headers } = prepare(body, options)
      const method = options.method ?? 'POST'
      return new Promise((resolve) => {
        const request = http.request(urlOf(options) + path, { method, headers, agent: false })
        const leaveWith = (status: number) => {
          request.destroy()
          resolve(status)
        }
        request.on('error', () => resolve(0))
        request.on('response', (response) => {
          let seen = ''
          response.setEncoding('latin1')
          response.on('error', () => {})
          response.on('data', (piece: string) => {
            seen += piece
            if (typeof when === 'string' && seen.includes(when)) leaveWith(response.statusCode ?? 0)
          })
          response.on('end', () => resolve(response.statusCode ?? 0))
        })
        request.end(bytes)
        const before = account.asked.length
        const untilAsked = () => {
          if (request.destroyed) return
          if (account.asked.length > before) setTimeout(() => leaveWith(0), Number(when))
          else setTimeout(untilAsked, 20)
        }
        if (typeof when === 'number') untilAsked()
      })
    },
    open(path, options = {}) {
      const { headers } = prepare(null, options)
      const socket = new WebSocket(`${urlOf(options).replace('http', 'ws')}${path}`, {
        headers,
        perMessageDeflate: false,
      })
      socket.on('error', () => {})
      return socket
    },
    async usage() {
      const answer = await fetch(`${urls[0]}/v1/usage?include=limits`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const { cost_usd: costUsd = 0, requests = 0, limits = [] } = Object(await answer.json())
      const charges = (limits as { charged_usd?: string }[]).map(({ charged_usd: usd }) => Number(usd ?? 0))
      return { costUsd, requests, chargedUsd: Math.max(0, ...charges) }
    },
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Spent of a hard budget, by the provider's books: held up to the budget and `calls` of the dearest above it. */
export function within(budgetUsd: number, account: Account, calls: number, counts: string): Verdict {
  const bound = picoOf(budgetUsd) + BigInt(calls) * account.dearestPico
  const figures = `${show(usdOf(account.pico))} USD served of a budget of ${budgetUsd} (at most ${show(usdOf(bound))}), ${counts}`
  return { held: account.pico <= bound, figures }
}
