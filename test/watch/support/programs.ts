import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const CACHE = resolve('node_modules/.cache/tallygate/watch')

export interface PrometheusPrograms {
  readonly prometheus: string
  readonly promtool: string
}

/** Those on the PATH; else those of the system's package, unpacked and not installed. Debian and Ubuntu have it. */
export function findPrometheus(): PrometheusPrograms {
  if (spawnSync('promtool', ['--version']).status === 0)
    return { prometheus: 'prometheus', promtool: 'promtool' }
  const folder = join(CACHE, 'prometheus')
  const bin = join(folder, 'usr/bin')
  if (!existsSync(join(bin, 'prometheus'))) {
    mkdirSync(folder, { recursive: true })
    const sandbox = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : []
    execFileSync('apt-get', ['-qq', ...sandbox, 'download', 'prometheus'], { cwd: folder, stdio: 'pipe' })
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'))
    execFileSync('dpkg-deb', ['-x', file ?? 'no package came', '.'], { cwd: folder })
  }
  return { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool') }
}

/** All modules of the collector are of one release. */
const COLLECTOR = 'v0.165.0'
const MODULES = ['otelcol', 'receiver/otlpreceiver', 'exporter/otlphttpexporter', 'service']

/** The collector of OpenTelemetry, built with Go from its modules; `null`: there is no Go. */
export function buildCollector(): string | null {
  if (spawnSync('go', ['version']).status !== 0) return null
  const folder = join(CACHE, `collector-${COLLECTOR}`)
  const program = join(folder, 'collector')
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  copyFileSync('test/watch/collector/main.go', join(folder, 'main.go'))
  const go = (...args: string[]) => execFileSync('go', args, { cwd: folder, stdio: 'pipe' })
  if (!existsSync(join(folder, 'go.mod'))) go('mod', 'init', 'collector')
  go('get', ...MODULES.map((name) => `go.opentelemetry.io/collector/${name}@${COLLECTOR}`))
  go('mod', 'tidy')
  go('build', '-o', program, '.')
  return program
}
