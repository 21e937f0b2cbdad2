import { spawn, spawnSync } from 'node:child_process'

/** How a package manager installs `redis-server`. */
export interface InstallWay {
  /** As shown to the user. */
  readonly shown: string
  readonly file: string
  readonly args: readonly string[]
}

/**
 * Debian's package starts a daemon on port 6379 at installation, and again at every boot. A `policy-rc.d`
 * that refuses it for the life of this script prevents the first (left behind by a kill it allows), disabling
 * the unit the second. A policy of the machine's own is kept.
 */
const APT_SCRIPT = `
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nkill -0 %s 2>/dev/null && exit 101\\nexit 0\\n' "$$" > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT TERM HUP
fi
install() { apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends redis-server; }
install || { apt-get -o DPkg::Lock::Timeout=300 update && install; }
if [ -d /run/systemd/system ]; then systemctl disable redis-server.service || true; fi
`

/** The ways available to this machine and user; empty where all need more rights. */
export function waysToInstall(): InstallWay[] {
  const ways: InstallWay[] = []
  const isRoot = process.getuid?.() === 0
  if (works('apt-get', ['--version'])) {
    if (isRoot) ways.push({ shown: 'apt-get install redis-server', file: 'sh', args: ['-c', APT_SCRIPT] })
    else if (works('sudo', ['-n', 'true']))
      ways.push({
        shown: 'sudo apt-get install redis-server',
        file: 'sudo',
        args: ['-n', 'sh', '-c', APT_SCRIPT],
      })
  }
  if (works('brew', ['--version']))
    ways.push({ shown: 'brew install redis', file: 'brew', args: ['install', 'redis'] })
  return ways
}

/** Runs it to its end. Returns its last line when it failed, else null. */
export async function installRedis(way: InstallWay): Promise<string | null> {
  const child = spawn(way.file, way.args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const hear = (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4_000)
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return code === 0 ? null : (said.trimEnd().split('\n').at(-1) ?? `exit code ${code}`)
}

function works(file: string, args: readonly string[]): boolean {
  return spawnSync(file, args, { stdio: 'ignore', timeout: 10_000 }).status === 0
}
