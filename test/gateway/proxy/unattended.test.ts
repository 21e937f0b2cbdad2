import { expect, test } from 'vitest'
import { Unattended } from '../../../src/gateway/proxy/unattended.ts'

test('a client has a share of the places, all clients together have them all, and an ended call gives its own back', () => {
  const unattended = new Unattended({ maxPerClient: 2, maxInAll: 3 })
  const admit = (client: string) => unattended.admit(client, 60_000, () => {})
  const first = admit('a')
  const second = admit('a')
  expect(admit('a')).toBeNull()
  const third = admit('b')
  expect(admit('c')).toBeNull()
  first?.()
  first?.()
  expect(unattended.count).toBe(2)
  const fourth = admit('c')
  expect(fourth).not.toBeNull()
  for (const release of [second, third, fourth]) release?.()
  expect(unattended.count).toBe(0)
})

test('a call that goes on too long is stopped once, and has given its place back by then', async () => {
  const unattended = new Unattended()
  let stops = 0
  const release = await new Promise<(() => void) | null>((resolve) => {
    const admitted = unattended.admit('a', 1, () => {
      stops += 1
      expect(unattended.count).toBe(0)
      resolve(admitted)
    })
  })
  release?.()
  expect(stops).toBe(1)
})

test('a process that stops waits for none longer than it may, neither for those there nor for those to come', async () => {
  const unattended = new Unattended({ stoppingMs: 1 })
  const stopped: string[] = []
  unattended.admit('a', 60_000, () => stopped.push('there'))
  unattended.beginStop()
  unattended.admit('a', 60_000, () => stopped.push('to come'))
  await unattended.idle()
  expect(stopped).toEqual(['there', 'to come'])
})

test('with no unattended call there is nothing to wait for', async () => {
  await new Unattended().idle()
})
