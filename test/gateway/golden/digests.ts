import { readFileSync } from 'node:fs'
import type { Provider } from '../../../src/providers/registry.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'
import { digestOf } from './call-world.ts'
import { type Answer, driveAnswer, type Way } from './drive-answer.ts'
import { driveSession, type PlayedSession } from './drive-session.ts'

const ASKED = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi there"}]}')
export const SSE = { 'content-type': 'text/event-stream; charset=utf-8' }

/** An answer to a chat, unless `fields` say otherwise. */
export function answer(provider: Provider, path: string, fields: Partial<Answer> & { body: Buffer }): Answer {
  const method = fields.method ?? 'POST'
  return {
    provider,
    method,
    path,
    dialect: dialectOf(provider, method, path),
    model: 'gpt-4o-mini',
    status: 200,
    headers: SSE,
    requestBody: ASKED,
    ...fields,
  }
}

/** The ways in which every answer comes to its end. */
export const WAYS: readonly (readonly [name: string, way: Way])[] = [
  ['whole', { pieceBytes: 1 << 20, announced: true }],
  ['streamed', { pieceBytes: 97 }],
  ['broken', { pieceBytes: 97, cut: 'breaks', cutAt: 0.6 }],
  ['left', { pieceBytes: 97, cut: 'leaves', cutAt: 0.6 }],
  ['left late', { pieceBytes: 97, cut: 'leaves', cutAt: 0.9, goesOn: true }],
]

/** A line with a digest of all that each way left. */
export async function answerLine(name: string, answered: Answer): Promise<string> {
  const large = Math.max(97, Math.ceil(answered.body.length / 200))
  const found: string[] = []
  for (const [way, how] of WAYS) {
    const left = await driveAnswer(answered, { ...how, pieceBytes: Math.max(how.pieceBytes, large) })
    found.push(`${way} ${digestOf(left).slice(0, 12)}`)
  }
  return `${name}: ${found.join(', ')}`
}

/** A line for each end of a session, behind a third of it, two thirds, and all. */
export async function sessionLines(
  name: string,
  session: Pick<PlayedSession, 'provider' | 'path' | 'messages' | 'said'>,
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const end of ['upstream ends', 'upstream breaks', 'client breaks', 'we end'] as const) {
    for (const share of [0.3, 0.7, 1]) {
      const cut = Math.floor(session.messages.length * share)
      const left = await driveSession({ ...session, model: null, cut, end, goesOn: share < 0.5 })
      lines.push(`${name}, ${end} behind ${cut}: ${digestOf(left)}`)
    }
  }
  return lines
}

/**
 * A golden file with the lines of each recording that it knows made again, and how many those are. A line whose recording
 * is not there stays as it is. A line that is an id alone gets its digests with `vitest -u`.
 */
export async function knownLines<Recording extends { readonly id: string }>(
  file: string,
  recordings: readonly Recording[],
  linesOf: (recording: Recording) => Promise<readonly string[]>,
): Promise<{ readonly text: string; readonly known: number }> {
  const golden = readFileSync(new URL(file, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  const idOf = (line: string) => line.split(/[,:]/)[0] ?? ''
  const byId = new Map(recordings.map((recording) => [recording.id, recording]))
  const text: string[] = []
  let known = 0
  for (const [index, line] of golden.entries()) {
    const id = idOf(line)
    const recording = byId.get(id)
    if (recording === undefined) text.push(line)
    else if (index === 0 || idOf(golden[index - 1] ?? '') !== id) {
      text.push(...(await linesOf(recording)))
      known += 1
    }
  }
  return { text: `${text.join('\n')}\n`, known }
}
