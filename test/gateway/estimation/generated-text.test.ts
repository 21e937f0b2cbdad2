import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generatedTextIn, textInCutJson } from '../../../src/gateway/estimation/generated-text.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import { threadMs } from '../../support/patience.ts'
import { chatDialect, chatEvent } from '../cuts/chat-stream.ts'

/** Reads `{"t": text}`. */
const plainDialect: Dialect = {
  ...chatDialect,
  textOf: (json) => (typeof json === 'object' && json !== null && 't' in json ? String(json.t) : ''),
}

function textIn(body: string | Buffer, dialect = plainDialect): string {
  return generatedTextIn(Buffer.from(body), dialect).text
}

describe('text is found in every wire that carries JSON objects', () => {
  test('text is found in server-sent events, lines, an array and one body', () => {
    expect(
      textIn(`: {comment\n\n${chatEvent('Hel')}${chatEvent('lo {"')}data: [DONE]\n\n`, chatDialect),
    ).toBe('Hello {"')
    expect(textIn('{"t":"a"}\n{"t":"b"}\n{"done":true}\n')).toBe('ab')
    expect(textIn('[{"t":"a"},\r\n{"t":"b"}\n]')).toBe('ab')
    expect(textIn('  {"x":{"t":"inner"},"t":"a}"}')).toBe('a}')
  })

  test('text is found inside binary frames with braces and quotes among their bytes', () => {
    const frame = (payload: string, noise: number[]) =>
      Buffer.concat([
        Buffer.from([0, 0, 0, 0x7b, ...noise]),
        Buffer.from(payload),
        Buffer.from([0x7b, 0x22, 0x7d, 0xff]),
      ])
    const frames = [
      frame('{"t":"a"}', [0x7b, 0, 0x22]),
      frame('{"x":1}', []),
      frame('{"t":"b"}', [0x7b, 0x7b, 1]),
    ]
    expect(textIn(Buffer.concat(frames))).toBe('ab')
    const wrapped = JSON.stringify({ bytes: Buffer.from('{"t":"inside"}').toString('base64'), p: 'abc' })
    expect(textIn(frame(wrapped, []))).toBe('inside')
  })

  test('a part cut out of a stream gives the text of the events that are whole in it, and where they stand', () => {
    const stream = Buffer.from(['one ', 'two ', 'three '].map(chatEvent).join(''))
    for (let start = 0; start < stream.length; start += 7) {
      for (let end = start; end <= stream.length; end += 11) {
        const part = stream.subarray(start, end)
        const found = generatedTextIn(part, chatDialect)
        expect('one two three '.includes(found.text)).toBe(true)
        const again = generatedTextIn(part.subarray(found.start, found.end), chatDialect)
        expect(again.text).toBe(found.text)
      }
    }
  })

  test('any bytes are harmless, and a dialect that throws gives no text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => textIn(Buffer.from(bytes)) === ''),
      { seed: 20_261_126 },
    )
    const throwing = { ...plainDialect, textOf: () => JSON.parse('{') }
    expect(textIn('{"t":"a"}', throwing)).toBe('')
    expect(textIn('{'.repeat(1e5))).toBe('')
  })
})

describe('a JSON body that was cut', () => {
  const content = 'He said "naïve" \\ and\n😀 left, {not} [json].'
  const body = Buffer.from(
    `{"id":"c1","list":[1,2.5,{"a":null}],"choices":[{"index":0,"message":{"role":"assistant","content":${JSON.stringify(content).replace('ï', '\\u00ef')},"refusal":null},"finish_reason":"stop"}],"model":"m"}`,
  )

  test('a JSON body that was cut gives the text up to the cut, wherever it is', () => {
    let longest = ''
    for (let cut = 0; cut <= body.length; cut++) {
      const text = textInCutJson(body.subarray(0, cut), chatDialect).text.replace(/\ufffd+$/, '')
      expect(content.startsWith(text), `cut at ${cut}: ${text}`).toBe(true)
      expect(text.length).toBeGreaterThanOrEqual(longest.length)
      longest = text
    }
    expect(longest).toBe(content)
  })

  test('deep nesting and endless commas take no time', () => {
    const started = threadMs()
    expect(textInCutJson(Buffer.from('['.repeat(65536)), chatDialect).text).toBe('')
    expect(textInCutJson(Buffer.from(`{"choices":[${'[1,'.repeat(20000)}`), chatDialect).text).toBe('')
    expect(textInCutJson(Buffer.from(`{"data":[${'0.5,'.repeat(16000)}`), chatDialect).text).toBe('')
    expect(threadMs() - started).toBeLessThan(2000)
  })
})
