import { expect, test } from 'vitest'
import { editedBody, editedParts, includeUsageEdit } from '../../../src/gateway/bodies/include-usage.ts'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'
import { targetOf } from '../../../src/gateway/routing/call-target.ts'
import { withModelInPath, withModelInQuery } from '../../../src/gateway/routing/splice-model.ts'

function inPath(path: string, asked: string, model: string): string | null {
  const target = targetOf(path)
  return target === null ? null : (withModelInPath(target, asked, model)?.pathAndQuery ?? null)
}

test.each([
  [
    '/v1beta/models/fast:generateContent?key=a%20b',
    '/v1beta/models/gemini-2.5-flash:generateContent?key=a%20b',
  ],
  ['/v1beta/models/f%61st:streamGenerateContent', '/v1beta/models/gemini-2.5-flash:streamGenerateContent'],
  ['/model/fast/converse', '/model/gemini-2.5-flash/converse'],
  [
    '/openai/deployments/fast/chat/completions?api-version=1',
    '/openai/deployments/gemini-2.5-flash/chat/completions?api-version=1',
  ],
])('the model of %s is replaced, and nothing else', (path, expected) => {
  expect(inPath(path, 'fast', 'gemini-2.5-flash')).toBe(expected)
})

test('a name with a colon goes into a path as one segment', () => {
  expect(inPath('/model/fast/converse', 'fast', 'eu.anthropic.claude-v2:0')).toBe(
    '/model/eu.anthropic.claude-v2%3A0/converse',
  )
})

test('a path that has the name twice, or not, is not changed at all', () => {
  expect(inPath('/v1beta/models/models:generateContent', 'models', 'x')).toBeNull()
  expect(inPath('/v1beta/models/faster:generateContent', 'fast', 'x')).toBeNull()
})

test('the model of a session stands in its query once, or is not replaced', () => {
  const spliced = (url: string) => {
    const target = targetOf(url)
    return target === null ? null : (withModelInQuery(target, 'a/b')?.pathAndQuery ?? null)
  }
  expect(spliced('/v1/realtime?x=1&model=fast&y=%20')).toBe('/v1/realtime?x=1&model=a%2Fb&y=%20')
  expect(spliced('/v1/realtime?model=fast&deployment=fast')).toBeNull()
})

test('a body gets its model and its wish for usage in one go, at every place of both', () => {
  const members = [
    '"model" : "f\\u0061st"',
    '"stream":true',
    '"messages":[{"model":"fast"}]',
    '"stream_options":null',
  ]
  for (let turn = 0; turn < members.length; turn += 1) {
    const turned = [...members.slice(turn), ...members.slice(0, turn)]
    const body = Buffer.from(`\ufeff{${turned.join(', ')}}`)
    const scan = scanRequestBody(body)
    const usage = includeUsageEdit(scan)
    expect(scan.model).toBe('fast')
    const model = { start: scan.modelStart, end: scan.modelEnd, bytes: Buffer.from('"gpt-4o-eu"') }
    const edits = usage === null ? [model] : [model, usage]
    expect(Buffer.concat(editedParts(body, edits)).equals(editedBody(body, edits))).toBe(true)
    expect(editedBody(body, edits).toString()).toBe(
      body
        .toString()
        .replace('"f\\u0061st"', '"gpt-4o-eu"')
        .replace('"stream_options":null', '"stream_options":{"include_usage":true}'),
    )
  }
})
