import { expect, test } from 'vitest'
import { isModelPattern, isName } from '../../src/domain/names.ts'

test.each([
  'acme',
  'Acme GmbH & Co.',
  'ünïcödé 🙂',
  '日本',
  "o'neil",
  'a'.repeat(128),
])('%j can name a client', (text) => {
  expect(isName(text)).toBe(true)
})

test.each([
  '',
  ' a',
  'a ',
  'a\nb',
  'a\0',
  'a\u{1b}[2J',
  'a\u{202e}b',
  'a\u{200b}b',
  'a\u{2028}b',
  '\u{e116}',
  '\ud800',
  'a'.repeat(129),
])('%j cannot name a client', (text) => {
  expect(isName(text)).toBe(false)
})

test.each([
  'gpt-4o',
  'gpt-*',
  '*',
  'openai/gpt-4o:free',
  'llama3.1:8b',
])('%j is a pattern of models', (text) => {
  expect(isModelPattern(text)).toBe(true)
})

test.each(['', 'g*t', '**', 'a b', 'a\n', '\0', '*a'])('%j is not a pattern of models', (text) => {
  expect(isModelPattern(text)).toBe(false)
})
