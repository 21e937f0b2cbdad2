import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes the secrets of a set of containers into a folder that they share. A secret that exists is kept; a new one is what
 * the environment has of that name, so that a host restored with its KEY_PEPPER has it where the environment lacks it. A
 * file named like a variable becomes that variable (with-secrets.sh); the other files are for the servers'
 * own images. Every user in those containers may read them, since each image runs as a user of its own; no
 * other container mounts the folder.
 *
 *     node src/standalone/container/write-secrets.ts /run/tallygate-secrets
 */
const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('usage: node src/standalone/container/write-secrets.ts FOLDER')
  process.exit(2)
}

const postgresPassword = keep('postgres-password')
const redisPassword = keep('redis-password')
keep('KEY_PEPPER')
keep('ADMIN_TOKEN')
write('DATABASE_URL', `postgresql://tallygate:${postgresPassword}@postgres:5432/tallygate`)
write('REDIS_URL', `redis://:${redisPassword}@redis:6379`)
write('redis.conf', `requirepass ${redisPassword}\n`)

/** The secret of this name, created at first use: 160 bits that need no quoting anywhere. */
function keep(name: string): string {
  const file = path(name)
  const given = process.env[name]
  if (!existsSync(file)) write(name, given || randomBytes(20).toString('hex'))
  const kept = readFileSync(file, 'utf8')
  if (given && given !== kept)
    console.error(`${name} of the environment is not the one that is kept here: it must stay set`)
  return kept
}

function write(name: string, text: string): void {
  writeFileSync(path(`.${name}`), text, { mode: 0o444 })
  renameSync(path(`.${name}`), path(name))
}

function path(name: string): string {
  return join(folder ?? '', name)
}
