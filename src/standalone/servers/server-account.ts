import { spawnSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import type { Command } from '../processes/detached-process.ts'

/** Wraps a command so that it runs as the servers' account. */
export type RunAs = (file: string, args: readonly string[]) => Command

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const asOurselves: RunAs = (file, args) => ({ file, args })

/**
 * PostgreSQL refuses to run as root. As root this finds or creates the system user `postgres`, gives it
 * `folder`, and tests that it reaches everything it needs. Where it does not, because the project lies in a
 * folder closed to others such as `/root`, the server gets the one capability to traverse such folders, by
 * `setpriv`, and no other of root's powers. Any other user runs the server as itself.
 * @param folder The server's own folder, handed over to the account; it exists.
 * @param tryOut A command that does nothing, and succeeds only where the server finds all its parts.
 * @throws {Error} With what to do, when no way works.
 */
export function chooseServerAccount(folder: string, tryOut: Command): RunAs {
  if (process.getuid?.() !== 0) return asOurselves
  const account = findAccount('postgres') ?? addAccount() ?? findAccount('nobody')
  if (account === null)
    throw new Error(
      'PostgreSQL does not run as root, and there is neither a user "postgres" nor useradd to make one: make one, run this as another user, or set DATABASE_URL',
    )
  chownSync(folder, account.uid, account.gid)
  const { uid, gid } = account
  const ways: readonly RunAs[] = [
    (file, args) => ({ file, args, account: { uid, gid } }),
    withCapability(account, 'dac_read_search'),
    withCapability(account, 'dac_override'), // what a container's root has of the kind
  ]
  const way = ways.find((runAs) => reaches(runAs, folder, tryOut))
  if (way === undefined)
    throw new Error(
      `PostgreSQL does not run as root, and the user "${account.name}" cannot reach ${folder} and ${tryOut.file}: move the project out of root's home, run this as another user, or set DATABASE_URL`,
    )
  return way
}

function withCapability(account: Account, capability: string): RunAs {
  return (file, args) => ({
    file: 'setpriv',
    args: [
      `--reuid=${account.uid}`,
      `--regid=${account.gid}`,
      '--clear-groups',
      `--inh-caps=-all,+${capability}`,
      `--ambient-caps=-all,+${capability}`,
      `--bounding-set=-all,+${capability}`,
      '--securebits=+no_setuid_fixup', // else access(2), by which PostgreSQL finds its parts, does not look at capabilities
      '--no-new-privs',
      file,
      ...args,
    ],
  })
}

function reaches(runAs: RunAs, folder: string, tryOut: Command): boolean {
  const script = '[ -r "$1/." ] && [ -w "$1/." ] && shift && exec "$@"'
  const { file, args, account } = runAs('/bin/sh', ['-c', script, 'sh', folder, tryOut.file, ...tryOut.args])
  return spawnSync(file, args, { ...account, cwd: '/', stdio: 'ignore', timeout: 10_000 }).status === 0
}

function findAccount(name: string): Account | null {
  const [uid, gid] = ['-u', '-g'].map((which) => {
    const { status, stdout } = spawnSync('id', [which, name], { encoding: 'utf8' })
    return status === 0 ? Number(stdout) : null
  })
  return uid === null || uid === undefined || gid === null || gid === undefined ? null : { name, uid, gid }
}

function addAccount(): Account | null {
  const options = ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false']
  spawnSync('useradd', [...options, 'postgres'])
  return findAccount('postgres')
}
