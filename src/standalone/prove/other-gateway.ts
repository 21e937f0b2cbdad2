import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SILENT_LOG } from '../../lib/logger.ts'
import { until } from '../../lib/repeat.ts'
import { openPostgres } from '../../store/connection/postgres.ts'
import type { Dialogue } from '../servers/redis-program.ts'
import { startOwnProcess } from '../stand/own-process.ts'
import { stopWithMe } from '../stand/stop-with-me.ts'
import type { BookedCall } from './compare-books.ts'
import { callNumberOfInput, chatCall, type PlannedCall, writeOrder } from './planned-calls.ts'
import type { OtherBooks, OtherGateway } from './proof.ts'
import type { MortalPart, Proven } from './proven.ts'

const READY_WITHIN_MS = 60_000
const ANSWERS_WITHIN_MS = 30_000
/** Gateways that keep dollars in floating point may be off so much. */
const TOLERANCE = 1e-9
/** Every interface: the gateway may run in a container. */
const EVERY_HOST = '0.0.0.0'

/**
 * Another gateway, which has to have the stand-in as the provider of the model, and lets its calls be read.
 *
 * @throws {Error} When it does not answer a call.
 */
export async function startOtherGateway(other: OtherGateway, { say }: Dialogue): Promise<Proven> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-prove-'))
  const end = stopWithMe(folder)
  const standInFile = join(folder, 'stand-in.ledger')
  const standIn = await startOwnProcess('src/standalone/prove/stand-in.ts', {}, [
    standInFile,
    `${other.standInPort}`,
    EVERY_HOST,
  ])
  say(
    `the stand-in provider listens at http://127.0.0.1:${standIn.port}/v1: the gateway sends it ${other.model}`,
  )
  const url = new URL(other.url)
  const path = `${url.pathname.replace(/\/$/, '')}/chat/completions`
  const plan = (number: number) => ({ ...chatCall(number, other.model), path })
  await answersOne(other, { url: `${url.origin}${path}`, call: plan(0) })
  return {
    name: url.origin,
    targets: [{ name: 'gateway', url: url.origin }],
    keys: [other.key],
    // The first call was made above.
    plan,
    parts: other.kills.map((command, index): MortalPart => {
      return { name: `${index + 1}: ${command}`, kill: () => runShell(command), start: async () => {} }
    }),
    standInFile,
    tolerance: TOLERANCE,
    async readBooks(calls) {
      const rows = await readRows(other.books)
      return rows.map((row) => countedCall(row, calls))
    },
    contradictions: async () => [],
    keepLogs: () => null,
    async stop() {
      standIn.child.disconnect()
      await end.now()
    },
  }
}

/** Waits until it answers a call that is in no book of ours. */
async function answersOne(
  { key }: OtherGateway,
  { url, call }: { readonly url: string; readonly call: PlannedCall },
): Promise<void> {
  let last = 'no answer'
  const content = writeOrder(call).replace('call', 'trial')
  const answered = await until(
    async () => {
      try {
        const answer = await fetch(url, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: call.model, messages: [{ role: 'user', content }] }),
          signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
        })
        last = `${answer.status} ${(await answer.text()).slice(0, 500)}`
        return answer.ok ? true : null
      } catch (error) {
        last = `${error}`
        return null
      }
    },
    { timeoutMs: READY_WITHIN_MS, everyMs: 1_000 },
  )
  if (answered === null) throw new Error(`${url} answers no call: ${last}`)
}

async function runShell(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: 'ignore' })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
}

async function readRows(books: OtherBooks): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (books.kind === 'url') {
    const answer = await fetch(books.url, {
      headers: { authorization: `Bearer ${books.key}` },
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    })
    if (!answer.ok)
      throw new Error(`${books.url} answers ${answer.status}: ${(await answer.text()).slice(0, 500)}`)
    return listIn(await answer.json())
  }
  const pool = openPostgres(books.databaseUrl, {
    max: 1,
    statementTimeoutMs: ANSWERS_WITHIN_MS,
    applicationName: 'tallygate prove',
    readsOnly: true,
    log: SILENT_LOG,
  })
  try {
    return (await pool.query<Record<string, unknown>>(books.query)).rows
  } finally {
    await pool.end()
  }
}

/** The list itself, or the first one that an object has. */
function listIn(document: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list = Array.isArray(document) ? document : Object.values(Object(document)).find(Array.isArray)
  if (list === undefined) throw new Error('there is no list of calls in the answer')
  return list.map(Object)
}

const NAMES = {
  input: ['prompt_tokens', 'input_tokens', 'tokens_in'],
  output: ['completion_tokens', 'output_tokens', 'tokens_out'],
  cost: ['spend', 'cost', 'cost_usd', 'total_cost'],
}

/** A call is known by the name that it carries, else by its tokens, which no other call has. */
function countedCall(row: Readonly<Record<string, unknown>>, calls: number): BookedCall {
  const [input, output, cost] = [NAMES.input, NAMES.output, NAMES.cost].map((names) => {
    const value = names.map((name) => row[name]).find((found) => found !== undefined && found !== null)
    return value === undefined ? null : Number(value)
  })
  const [, named] = /\bcall-(\d+)\b/.exec(JSON.stringify(row)) ?? []
  return {
    number: named === undefined ? callNumberOfInput(input ?? -1, calls) : Number(named),
    input: input ?? null,
    output: output ?? null,
    costPico: cost === null || cost === undefined ? null : BigInt(Math.round(cost * 1e12)),
  }
}
