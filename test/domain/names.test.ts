import { expect, test } from 'vitest'
import { isModelPattern, MAX_NAME_LENGTH, NAME_FORM } from '../../src/domain/names.ts'

const isName = (text: string) => NAME_FORM.test(text) && [...text].length <= MAX_NAME_LENGTH

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
