// The site of docs/: `npm run docs:build`, or `npm run docs:dev` while writing. A dead link ends it with an error.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
/** Apart, so that no rule about docs/ finds packages there, and npm takes none of them for one too many. */
const folder = join(here, '../../node_modules/.cache/docs-site')
const installed = join(folder, 'installed.json')

const lock = readFileSync(join(here, 'package-lock.json'), 'utf8')
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
  console.error('installing what makes the site, once')
  mkdirSync(folder, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(here, file), join(folder, file))
  execFileSync('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  })
  writeFileSync(installed, lock)
}
const program = join(folder, 'node_modules/vitepress/bin/vitepress.js')
execFileSync(process.execPath, [program, process.argv[2] ?? 'build', here], { stdio: 'inherit' })
