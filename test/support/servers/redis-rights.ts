import { readFileSync } from 'node:fs'

const page = readFileSync('docs/operations.md', 'utf8')

function commandsIn(text: RegExp): readonly string[] {
  const [, line = ''] = text.exec(page) ?? []
  const commands = [...line.matchAll(/\+([\w|]+)/g)].flatMap(([, command = '']) => command)
  if (commands.length === 0) throw new Error(`docs/operations.md has no ${text}`)
  return commands
}

/** The commands that docs/operations.md gives a user of Redis, those in BullMQ's scripts included. */
export const REDIS_COMMANDS = commandsIn(/^ACL SETUSER ([\s\S]*?)^```$/m)

/** Those that it gives beside, over a cluster. */
export const CLUSTER_COMMANDS = commandsIn(/^Over a cluster, on every node, also `(.*)`/m)
