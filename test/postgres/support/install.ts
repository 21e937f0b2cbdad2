import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Debian's packages, and a program of each. */
const PACKAGES = [
  { name: 'pgbouncer', program: '/usr/sbin/pgbouncer' },
  { name: 'openssl', program: '/usr/bin/openssl' },
  { name: 'postgresql-15', program: '/usr/lib/postgresql/15/bin/postgres' },
]

/** Installs what is missing, without letting it start a daemon. Needs root, or a sudo without a password. */
export default function install(): void {
  const missing = PACKAGES.filter(({ program }) => !existsSync(program)).map(({ name }) => name)
  if (missing.length === 0) return
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const quiet = ['env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1', 'SYSTEMCTL_SKIP_REDIRECT=1']
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', ...missing]]) {
    const [file = '', ...rest] = [...sudo, ...quiet, 'apt-get', ...args]
    const { status, stderr } = spawnSync(file, rest, { encoding: 'utf8' })
    if (status !== 0)
      throw new Error(`${missing.join(', ')} cannot be installed: ${stderr.trim().slice(-300)}`)
  }
}
