import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findMembers } from '../../../src/providers/wires/prefilter.ts'
import { MAX_HELD_EVENT_BYTES, SseSplitter } from '../../../src/providers/wires/sse.ts'
import { rounds } from '../../support/rounds.ts'

interface Event {
  readonly data: string
  readonly isError: boolean
}

/** Reads the pieces as a stream and gives all its events. */
function split(pieces: readonly Buffer[], wantsEvery = true): Event[] {
  const events: Event[] = []
  const splitter = new SseSplitter(
    {
      wantsEvery,
      event: (data, isError) => events.push({ data: data.toString('latin1'), isError }),
      openLong() {
        let data = ''
        return {
          push: (piece) => {
            data += piece.toString('latin1')
          },
          end: (isError) => events.push({ data, isError }),
        }
      },
    },
    findMembers(['usage']),
  )
  for (const piece of pieces) {
    const lent = Buffer.from(piece)
    splitter.push(lent)
    lent.fill(0x0a)
  }
  splitter.end()
  return events
}

/** The standard's algorithm on the whole text: the slow way that the splitter must agree with. */
function splitWhole(text: string): Event[] {
  const events: Event[] = []
  let lines: string[] = []
  let type = ''
  const finish = (): void => {
    if (lines.length > 0) events.push({ data: lines.join('\n'), isError: type === 'error' })
    lines = []
    type = ''
  }
  for (const line of text.replace(/^\u00ef\u00bb\u00bf/, '').split(/\r\n|\n|\r/)) {
    if (line === '') finish()
    const field = /^(data|event): ?(.*)$/s.exec(line)
    if (field?.[1] === 'data') lines.push(field[2] ?? '')
    if (field?.[1] === 'event') type = field[2] ?? ''
  }
  finish()
  return events
}

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const sorted = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index] ?? 0, end))
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.constantFrom(
  'data: {"usage":{"n":1}}',
  'data:{"a":1}',
  'data: ',
  'data:  two spaces',
  'data: [DONE]',
  `data: ${'long '.repeat(250)}`,
  'data: {"content":"caf\u00c3\u00a9"}',
  'event: error',
  'event:error',
  'event: ping',
  'event: errors',
  ': keep-alive',
  ':',
  'id: 7',
  'retry: 100',
  '',
  '',
  '',
)
const streams = fc
  .tuple(
    fc.constantFrom('', '\u00ef\u00bb\u00bf'),
    fc.array(fc.tuple(line, lineEnd), { maxLength: 20 }),
    line,
  )
  .map(
    ([byteOrderMark, lines, last]) => byteOrderMark + lines.map(([text, end]) => text + end).join('') + last,
  )

describe('a stream of events read as it passes', () => {
  test('a stream of events is split as the standard splits the whole text, whatever the line ends and the pieces', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        const bytes = Buffer.from(text, 'latin1')
        expect(split(pieces(bytes, cuts))).toEqual(splitWhole(text))
      }),
      { numRuns: rounds({ short: 1_000, long: 5_000 }), seed: 20_261_121 },
    )
  })

  test('a stream of events with only LF line ends gives the same events by the short way', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 12 }), (lines, cuts) => {
        const text = lines.join('\n')
        expect(split(pieces(Buffer.from(text, 'latin1'), cuts))).toEqual(splitWhole(text))
      }),
      { numRuns: rounds({ short: 600, long: 3_000 }), seed: 20_261_121 },
    )
  })

  test('a stream of events passes on those that may contain usage and no others once nothing else is wanted', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        const given = split(pieces(Buffer.from(text, 'latin1'), cuts), false)
        const reporting = splitWhole(text).filter(({ data }) => data.includes('"usage"'))
        expect(given.filter(({ data }) => data.includes('"usage"'))).toEqual(reporting)
      }),
      { numRuns: rounds({ short: 400, long: 2_000 }), seed: 20_261_121 },
    )
  })

  test('a stream with an event longer than may be held gives its data in pieces and loses nothing', () => {
    const long = `{"b64":"${'x'.repeat(MAX_HELD_EVENT_BYTES * 3)}","usage":{"n":1}}`
    const text = `: hello\n\nevent: a\ndata: ${long}\n\ndata: short\n\n`
    const bytes = Buffer.from(text)
    for (const size of [1000, 4096, 65_536]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      )
      expect(split(chunks).map(({ data }) => data.trim())).toEqual([long, 'short'])
    }
  })

  test('a stream may have a long event with CRLF line ends and an error for a name', () => {
    const long = 'y'.repeat(MAX_HELD_EVENT_BYTES * 2)
    const bytes = Buffer.from(`event: error\r\nid: 1\r\ndata: ${long}\r\n\r\ndata: z\r\n\r\n`)
    const chunks = [bytes.subarray(0, 70_000), bytes.subarray(70_000, 70_001), bytes.subarray(70_001)]
    expect(split(chunks).map(({ data, isError }) => [data.trim().length, isError])).toEqual([
      [long.length, true],
      [1, false],
    ])
  })

  test('a stream reader holds at most its bound of an unfinished event', () => {
    const splitter = new SseSplitter(
      { wantsEvery: true, event: () => {}, openLong: () => ({ push: () => {}, end: () => {} }) },
      findMembers(['usage']),
    )
    let most = 0
    for (let sent = 0; sent < 400; sent += 1) {
      splitter.push(Buffer.alloc(1024, 0x61))
      most = Math.max(most, splitter.heldBytes)
    }
    expect(most).toBeLessThanOrEqual(MAX_HELD_EVENT_BYTES)
  })
})
