import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createKey,
  hashKey,
  isKeyShaped,
  keyPrefix,
  pepperId,
  withoutKeys,
} from '../../src/domain/api-key.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('a new key is tg_ and 36 base62 characters, and has the form of a key', () => {
  for (let round = 0; round < 1_000; round++) {
    const key = createKey()
    expect(key).toMatch(/^tg_[0-9A-Za-z]{36}$/)
    expect(isKeyShaped(key)).toBe(true)
  }
})

test('any one character typed wrong is refused by form alone', () => {
  const key = createKey()
  for (let place = 0; place < key.length; place++) {
    for (const wrong of [...BASE62, '-', '_', ' ', 'é', '\0'].filter((digit) => digit !== key[place])) {
      expect(isKeyShaped(key.slice(0, place) + wrong + key.slice(place + 1))).toBe(false)
    }
  }
})

test('two neighbours swapped are refused by form alone', () => {
  const key = createKey()
  for (let place = 3; place + 1 < key.length; place++) {
    const swapped = `${key.slice(0, place)}${key[place + 1]}${key[place]}${key.slice(place + 2)}`
    if (swapped !== key) expect(isKeyShaped(swapped)).toBe(false)
  }
})

test('no other text has the form of a key, and none makes the check throw', () => {
  const key = createKey()
  for (const text of [
    '',
    'tg_',
    `${key}\n`,
    ` ${key}`,
    `${key}0`,
    key.slice(0, -1),
    key.toLowerCase(),
    'sk-1',
  ]) {
    expect(isKeyShaped(text)).toBe(false)
  }
  fc.assert(
    fc.property(fc.string(), (text) => !isKeyShaped(text)),
    { seed: 20_261_126 },
  )
})

test('every random character is drawn about equally often', () => {
  const counts = new Map<string, number>()
  const keys = 20_000
  for (let round = 0; round < keys; round++) {
    for (const digit of createKey().slice(3, 33)) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  }
  const expected = (keys * 30) / BASE62.length
  for (const digit of BASE62) {
    // 6 standard deviations: a modulo bias would put eight of the digits 25 % above the others.
    expect(Math.abs((counts.get(digit) ?? 0) - expected)).toBeLessThan(6 * Math.sqrt(expected))
  }
})

test('a hash depends on the key and on the pepper, and tells neither', () => {
  const key = createKey()
  const hash = hashKey(key, 'pepper')
  expect(hash).toHaveLength(32)
  expect(hashKey(key, 'pepper')).toEqual(hash)
  expect(hashKey(key, 'other')).not.toEqual(hash)
  expect(hashKey(createKey(), 'pepper')).not.toEqual(hash)
  expect(pepperId('pepper')).toMatch(/^[0-9a-f]{16}$/)
  expect(pepperId('pepper')).not.toBe(pepperId('other'))
})

test('what is shown of a key leaves 28 of its 36 characters unknown', () => {
  const key = createKey()
  expect(keyPrefix(key)).toBe(key.slice(0, 11))
})

test('a text keeps only what may be seen of keys in it, and everything else as it is', () => {
  const [one, two] = [createKey(), createKey()]
  expect(withoutKeys(`/v1/files/${one}/x${two}y?${one}`)).toBe(
    `/v1/files/${keyPrefix(one)}***/x${keyPrefix(two)}***y?${keyPrefix(one)}***`,
  )
  const typo = `${one.slice(0, -1)}${one.endsWith('a') ? 'b' : 'a'}`
  for (const text of ['', 'gpt-4o-mini', 'tg_', 'tg_short', typo]) expect(withoutKeys(text)).toBe(text)
})
