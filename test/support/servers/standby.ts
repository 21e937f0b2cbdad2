import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../../src/standalone/servers/postgres.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'
import type { TestServer } from './servers.ts'

/** A streaming replica of a private PostgreSQL; it dies with the process that started it. */
export interface Standby {
  /** The same database as `url` of the primary. */
  urlOf(databaseUrl: string): string
  stop(): Promise<void>
}

/** Copies the running primary and starts the copy as a standby, as pg_basebackup would. */
export async function startStandby(primary: TestServer): Promise<Standby> {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-standby-'))
  const end = stopWithMe(folder)
  const data = join(folder, 'data')
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('standby', fast => true)`)
    const copied = spawnSync('cp', ['-a', join(primary.folder, 'data'), data])
    if (copied.status !== 0) throw new Error(String(copied.stderr))
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()')
    const { hostname, port, username, password } = new URL(primary.url)
    rmSync(join(data, 'postmaster.pid'))
    write(data, 'backup_label', rows[0]?.labelfile ?? '')
    write(data, 'standby.signal', '')
    write(
      data,
      'postgresql.auto.conf',
      `primary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password}'\n`,
    )
  } finally {
    await client.end()
  }
  const server = await startPostgres({ folder, password: '', durable: false })
  end.add(server.pid)
  return {
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl)
      url.port = `${server.port}`
      return url.href
    },
    stop: () => end.now(),
  }
}

/** With the owner of the folder: PostgreSQL does not run as root. */
function write(data: string, name: string, text: string): void {
  const { uid, gid } = statSync(data)
  writeFileSync(join(data, name), text, { mode: 0o600 })
  chownSync(join(data, name), uid, gid)
}
