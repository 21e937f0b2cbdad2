import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CLUSTER_COMMANDS, REDIS_COMMANDS } from '../../src/store/redis-probe/redis-rights.ts'

test('docs/operations.md gives a user of Redis the rights that the code has, and no others', () => {
  const page = readFileSync('docs/operations.md', 'utf8')
  const [, line = ''] = /^ACL SETUSER ([\s\S]*?)^```$/m.exec(page) ?? []
  const given = [...line.matchAll(/\+([\w|]+)/g)].map(([, command]) => command)
  expect(given).toEqual(REDIS_COMMANDS)
  expect(page).toContain(`\`${CLUSTER_COMMANDS.map((command) => `+${command}`).join(' ')}\``)
})
