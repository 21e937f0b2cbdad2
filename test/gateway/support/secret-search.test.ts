import { expect, test } from 'vitest'
import { randomBase62 } from '../../../src/domain/base62.ts'
import { searchFor } from './secret-search.ts'

const SECRET = randomBase62(28)
const search = searchFor({ key: SECRET, prompt: 'a prompt, "quoted" & with späces' })

test.each([
  ['as it is', SECRET],
  ['in other text', `{"err":{"message":"Invalid header ${SECRET}x"}}`],
  ['cut to nine characters', `Unexpected token in ..."${SECRET.slice(5, 14)}"...`],
  ['in a basic authorization', Buffer.from(`user:${SECRET}`).toString('base64')],
  ['in base64, one byte later', Buffer.from(`users:${SECRET}:`).toString('base64')],
  ['in base64, two bytes later', Buffer.from(`people:${SECRET}/`).toString('base64url')],
  ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ['in hexadecimal of a column', `\\x${Buffer.from(`{"k":"${SECRET}"}`).toString('hex').toUpperCase()}`],
])('a secret is found %s', (_what, text) => {
  expect(search.findIn(text)).toContainEqual(expect.stringMatching(/^key \(/))
  expect(search.findIn(Buffer.concat([Buffer.from([0, 255, 128]), Buffer.from(text)]))).not.toEqual([])
})

test('a text is found percent-encoded, and as its UTF-8', () => {
  expect(search.findIn(`/x?q=${encodeURIComponent('a prompt, "quoted" & with späces')}`)).not.toEqual([])
  expect(search.findIn(Buffer.from('..., with späces'))).not.toEqual([])
})

test('what holds no secret is not found', () => {
  expect(search.findIn(Array.from({ length: 2_000 }, () => randomBase62(40)).join('\n'))).toEqual([])
})
