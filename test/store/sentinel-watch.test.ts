import { expect, test } from 'vitest'
import { SentinelWatch, type Watched } from '../../src/store/connection/sentinel-watch.ts'

/** Three Sentinels, what each says of the master, and a watch that asks them. */
function world() {
  const says: (readonly string[] | Error)[] = [naming(1, 0), naming(1, 0), naming(1, 0)]
  let closed = 0
  const hosts = says.map((_, at) => ({ host: 'sentinel', port: at }))
  const watch = new SentinelWatch({ hosts, master: 'main' }, ({ port }) => ({
    on: () => {},
    disconnect: () => {
      closed += 1
    },
    call: async () => {
      const said = says[port]
      if (said instanceof Error || said === undefined) throw said
      return said
    },
  }))
  return { says, watch, closed: () => closed }
}

const naming = (port: number, epoch: number) => ['ip', 'redis', 'port', `${port}`, 'config-epoch', `${epoch}`]

function connection(at: string | null): Watched & { reconnected: number } {
  return {
    at,
    reconnected: 0,
    reconnect() {
      this.reconnected += 1
    },
  }
}

test('a connection to what was the master is made again once a single Sentinel knows of the failover', async () => {
  const { says, watch } = world()
  const [old, making] = [connection('redis:1'), connection(null)]
  watch.add(old)
  watch.add(making)
  await watch.check()
  expect(old.reconnected).toBe(0)
  expect(watch.insteadOf('redis:1')).toBeNull()

  says[2] = naming(2, 7)
  await watch.check()
  expect([old.reconnected, making.reconnected]).toEqual([1, 0])
  // Whatever the others name now, the newest failover decides, and what is at its master stays.
  expect(watch.insteadOf('redis:1')).toMatchObject({ host: 'redis', port: 2 })
  old.at = 'redis:2'
  await watch.check()
  expect(old.reconnected).toBe(1)
})

test('Sentinels that were set up again, and all name one master, are believed', async () => {
  const { says, watch } = world()
  says.fill(naming(2, 7))
  await watch.check()
  says.fill(naming(3, 0), 0, 2)
  await watch.check()
  expect(watch.insteadOf('redis:2')).toBeNull()
  says.fill(naming(3, 0))
  await watch.check()
  expect(watch.insteadOf('redis:2')).toMatchObject({ port: 3 })
})

test('Sentinels that are away, or say nothing of use, change nothing', async () => {
  const { says, watch } = world()
  const one = connection('redis:9')
  watch.add(one)
  says.fill(new Error('away'))
  await watch.check()
  says[0] = ['ip', 'redis', 'port', 'x', 'config-epoch', '3']
  says[1] = []
  await watch.check()
  expect([one.reconnected, watch.insteadOf('redis:9')]).toEqual([0, null])
})

test('the last connection that ends closes those to the Sentinels', () => {
  const { watch, closed } = world()
  const [first, second] = [connection(null), connection(null)]
  watch.add(first)
  watch.add(second)
  expect([watch.delete(first), closed()]).toEqual([false, 0])
  expect([watch.delete(second), closed()]).toEqual([true, 3])
})
