import { expect, test } from 'vitest'
import { createKey, createToken, hashKey, isKeyShaped, isTokenShaped } from '../../src/domain/api-key.ts'
import { CheckedTokens } from '../../src/keys/tokens/checked-tokens.ts'

const TOKEN = createToken('operator')

function checked(find: () => Promise<string | null>) {
  const clock = { ms: 0 }
  const asked: (readonly Buffer[])[] = []
  const tokens = new CheckedTokens(
    ['operator'],
    ['new', 'old'],
    async (digests) => {
      asked.push(digests)
      return await find()
    },
    () => clock.ms,
  )
  return { clock, asked, tokens }
}

test('neither a key nor a token of another kind has the form of a token', () => {
  for (const text of [createKey(), createToken('portal'), '', 'tga_', `${TOKEN}0`, TOKEN.slice(0, -1)])
    expect(isTokenShaped('operator', text)).toBe(false)
  expect(isTokenShaped('operator', TOKEN)).toBe(true)
  expect(TOKEN.length).toBeGreaterThanOrEqual(32)
  expect(isKeyShaped(TOKEN)).toBe(false)
})

test('a text without the form of a token is never looked up', async () => {
  const { asked, tokens } = checked(async () => 'somebody')
  expect(await tokens.find(createToken('portal'))).toBeNull()
  expect(await tokens.find('tga_guess')).toBeNull()
  expect(asked).toEqual([])
})

test('a token that was right is looked up again each half second, by its digest under each pepper', async () => {
  let holder: string | null = 'somebody'
  const { clock, asked, tokens } = checked(async () => holder)
  expect(await Promise.all([tokens.find(TOKEN), tokens.find(TOKEN)])).toEqual(['somebody', 'somebody'])
  expect(asked).toEqual([[hashKey(TOKEN, 'new'), hashKey(TOKEN, 'old')]])
  holder = null
  clock.ms = 499
  expect(await tokens.find(TOKEN)).toBe('somebody')
  clock.ms = 500
  expect(await tokens.find(TOKEN)).toBeNull()
})

test('where it cannot be looked up it is refused, and looked up again', async () => {
  let isAway = true
  const { tokens } = checked(async () => {
    if (isAway) throw new Error('away')
    return 'somebody'
  })
  await expect(tokens.find(TOKEN)).rejects.toThrow('away')
  isAway = false
  expect(await tokens.find(TOKEN)).toBe('somebody')
})

test('of many made-up tokens from where others guess few are asked for, one that was right always', async () => {
  const { tokens } = checked(async () => 'somebody')
  await tokens.find(TOKEN)
  const asked = Array.from({ length: 1_000 }, () => tokens.mayBeAsked(createToken('operator')))
  expect(asked.filter((isAsked) => isAsked).length).toBeLessThan(500)
  expect(tokens.mayBeAsked('tga_guess')).toBe(false)
  expect(tokens.mayBeAsked(TOKEN)).toBe(true)
})
