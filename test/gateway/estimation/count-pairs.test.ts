import { readFileSync } from 'node:fs'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, expect, test } from 'vitest'
import { loadPairCounter, type PairCounter } from '../../../src/gateway/estimation/tokenizer/count-pairs.ts'

const AS_TEXT = { disallowedSpecial: new Set<string>() }

const TEXTS: readonly string[] = [
  '',
  'a',
  ' ',
  '\n\n  \r\n\t x',
  '<|endoftext|>',
  "I'LL we've it's D'Artagnan’s",
  '1234567 8.90e10',
  '今天天气很好，我们去公园散步。孩子们在湖边玩耍',
  'Große Übung: naïve café – «привет, мир» 😀👩‍👩‍👧 {"k":[1,2,3]} مرحبا नमस्ते สวัสดี',
  'half a pair \ud800 and another \udc00',
  'x'.repeat(2048),
  '漢字'.repeat(1024),
  Array.from({ length: 600 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000))).join(''),
  ...['package.json', 'README.md', 'src/gateway/estimation/estimate-tokens.ts'].map((file) =>
    readFileSync(file, 'utf8').slice(0, 20_000),
  ),
]

/** Texts of all kinds of characters, the same each time. */
function oddTexts(): string[] {
  let state = 7
  const next = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const oddCharacter = () => (next(3) > 0 ? 32 + next(95) : next(0x2_0000))
  return Array.from({ length: 300 }, () =>
    Array.from({ length: 50 }, () => String.fromCodePoint(oddCharacter())).join(''),
  )
}

let o200k: PairCounter
let cl100k: PairCounter

beforeAll(async () => {
  o200k = await loadPairCounter('o200k_base')
  cl100k = await loadPairCounter('cl100k_base')
})

test('the compact tables count as many tokens as the library that they are from, in both encodings', () => {
  for (const text of [...TEXTS, ...oddTexts()]) {
    expect(o200k.count(text), text.slice(0, 60)).toBe(countO200k(text, AS_TEXT))
    expect(cl100k.count(text), text.slice(0, 60)).toBe(countCl100k(text, AS_TEXT))
  }
})
