import { expect, test } from 'vitest'
import type { ElementSink } from '../../../src/providers/wires/elements.ts'
import { createArraySplitter } from '../../../src/providers/wires/json-array.ts'
import { createLineSplitter } from '../../../src/providers/wires/ndjson.ts'
import { cuts, lend } from './cuts.ts'

/** Records elements as text; those that came in pieces are put together again and flagged. */
function listingSink(): {
  readonly sink: ElementSink
  readonly elements: string[]
  readonly largestPiece: () => number
} {
  const elements: string[] = []
  let pieces: Buffer[] = []
  let largest = 0
  return {
    sink: {
      whole: (bytes) => elements.push(bytes.toString()),
      piece(bytes, last) {
        largest = Math.max(largest, bytes.length)
        pieces.push(Buffer.from(bytes))
        if (!last) return
        elements.push(`pieces:${Buffer.concat(pieces).toString()}`)
        pieces = []
      },
    },
    elements,
    largestPiece: () => largest,
  }
}

function linesOf(chunks: readonly Uint8Array[], maxLineBytes?: number): string[] {
  const { sink, elements } = listingSink()
  const splitter = createLineSplitter(sink, maxLineBytes)
  for (const chunk of chunks) lend(chunk, (borrowed) => splitter.push(borrowed))
  splitter.end()
  return elements
}

function elementsOf(chunks: readonly Uint8Array[], maxElementBytes?: number): string[] {
  const { sink, elements } = listingSink()
  const splitter = createArraySplitter(sink, maxElementBytes)
  for (const chunk of chunks) lend(chunk, (borrowed) => splitter.push(borrowed))
  return elements.map((element) => element.trim())
}

test('lines are the same wherever the bytes are cut, with LF, CRLF, empty lines and none at the end', () => {
  const bytes = Buffer.from('{"a":"é"}\n\n{"b":2}\r\n{"c":"\\n"}\n{"last":"😀"}')
  for (const chunks of cuts(bytes)) {
    expect(linesOf(chunks).map((line) => line.trim())).toEqual([
      '{"a":"é"}',
      '{"b":2}',
      '{"c":"\\n"}',
      '{"last":"😀"}',
    ])
  }
})

test('a line too large to be collected arrives whole, in pieces, and the next lines as before', () => {
  const bytes = Buffer.from(`{"small":1}\n{"large":"${'x'.repeat(60)}"}\n{"after":2}\n`)
  for (const chunks of cuts(bytes)) {
    expect(linesOf(chunks, 20).map((line) => line.replace(/^pieces:/, ''))).toEqual([
      '{"small":1}',
      `{"large":"${'x'.repeat(60)}"}`,
      '{"after":2}',
    ])
  }
  expect(linesOf([bytes.subarray(0, 40), bytes.subarray(40)], 20)[1]).toMatch(/^pieces:/)
})

test("an array's elements are the same wherever it is cut, with braces, quotes and escapes in strings", () => {
  const elements = [
    '{"a":"]},[{\\"\\\\"}',
    '{"b":[1,[2,{"c":"é😀"}]]}',
    '"x,y"',
    '[{}]',
    'null',
    '{"d":"\\\\\\\\"}',
  ]
  for (const text of [`[${elements.join(',')}]`, `\n[ ${elements.join('\r\n,\r\n')}\n]\n`]) {
    for (const chunks of cuts(Buffer.from(text))) expect(elementsOf(chunks)).toEqual(elements)
  }
})

test('an element is handed over with the byte after it, long before the array ends', () => {
  const { sink, elements } = listingSink()
  const splitter = createArraySplitter(sink)
  splitter.push(Buffer.from('[{"a":1}'))
  expect(elements).toEqual([])
  splitter.push(Buffer.from(','))
  expect(elements).toEqual(['{"a":1}'])
})

test('an element too large to be collected passes through in pieces of the size they came in', () => {
  const { sink, elements, largestPiece } = listingSink()
  const splitter = createArraySplitter(sink, 100)
  splitter.push(Buffer.from('[{"data":"'))
  for (let i = 0; i < 1000; i += 1) splitter.push(Buffer.alloc(50, 'x'))
  splitter.push(Buffer.from('"},{"b":1}]'))
  expect(elements).toEqual([`pieces:{"data":"${'x'.repeat(50_000)}"}`, '{"b":1}'])
  expect(largestPiece()).toBeLessThanOrEqual(100)
})

test('text that is not an array, and what follows the end of one, is not read', () => {
  for (const text of ['{"error":{}}', 'x[1]', '', '   ']) {
    for (const chunks of cuts(Buffer.from(text))) expect(elementsOf(chunks)).toEqual([])
  }
  expect(elementsOf([Buffer.from('[1,2] [3,4]')])).toEqual(['1', '2'])
  expect(elementsOf([Buffer.from('[1}},2]')])).toEqual([])
  expect(elementsOf([Buffer.from('[]')])).toEqual([])
})
