import { expect, test } from 'vitest'
import { Guesses, isUnguessable } from '../../src/http/guesses.ts'

function guesses(most = 3) {
  const clock = { ms: 0 }
  return { clock, made: new Guesses(most, () => clock.ms) }
}

function guess(made: Guesses, address: string, times: number) {
  for (let done = 0; done < times; done += 1) made.count(address)
}

test('so many wrong ones a minute are looked at, and no more before the minute is over', () => {
  const { clock, made } = guesses()
  guess(made, '192.0.2.1', 2)
  expect(made.waitSeconds('192.0.2.1')).toBeNull()
  clock.ms = 30_500
  guess(made, '192.0.2.1', 1)
  expect(made.waitSeconds('192.0.2.1')).toBe(30)
  expect(made.waitSeconds('192.0.2.2')).toBeNull()
  clock.ms = 60_000
  expect(made.waitSeconds('192.0.2.1')).toBeNull()
  guess(made, '192.0.2.1', 1)
  expect(made.waitSeconds('192.0.2.1')).toBeNull()
})

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:3::1'],
  ['2001:db8::1', '2001:db8:0:0:5::9', '2001:db8:0:1::1'],
  ['::ffff:192.0.2.7', '192.0.2.7', '192.0.2.8'],
])('%s guesses for %s, and not for %s', (one, same, other) => {
  const { made } = guesses()
  guess(made, one, 3)
  expect(made.waitSeconds(same)).toBe(60)
  expect(made.waitSeconds(other)).toBeNull()
})

test('those that guessed longest ago are dropped beyond 20,000 addresses, and the newest still wait', () => {
  const { made } = guesses(1)
  for (let address = 0; address < 50_000; address += 1) made.count(`a${address}`)
  expect(made.waitSeconds('a49999')).toBe(60)
  expect(made.waitSeconds('a30000')).toBe(60)
  expect(made.waitSeconds('a29999')).toBeNull()
})

test('a token of ours is beyond guessing, a short one of the environment is not', () => {
  expect(isUnguessable('x'.repeat(32))).toBe(true)
  expect(isUnguessable('secret')).toBe(false)
})
