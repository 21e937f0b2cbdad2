import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The packages that rarely run suites need, and `npm install` does not bring. */
const WANTED = 'test/packages'
/** Apart, so that npm takes none of them for one too many. */
const FOLDER = 'node_modules/.cache/test-packages'
const FILES = ['package.json', 'package-lock.json']
const INSTALLED = join(FOLDER, 'installed.json')

/**
 * Installs them as they are locked, where they are not there yet, and links each into `node_modules`.
 *
 * @throws {Error} Where npm cannot have them.
 */
export function installTestPackages(): void {
  const { dependencies } = JSON.parse(readFileSync(join(WANTED, 'package.json'), 'utf8'))
  const links = Object.keys(dependencies).map((name) => join('node_modules', name))
  if (links.every((link) => existsSync(link)) && !existsSync(FOLDER)) return // they came in another way
  const lock = readFileSync(join(WANTED, 'package-lock.json'), 'utf8')
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== lock) {
    console.error('installing the packages of the tests, once')
    mkdirSync(FOLDER, { recursive: true })
    for (const file of FILES) copyFileSync(join(WANTED, file), join(FOLDER, file))
    execFileSync('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], {
      cwd: FOLDER,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    writeFileSync(INSTALLED, lock)
  }
  for (const name of Object.keys(dependencies)) {
    const link = join('node_modules', name)
    const target = relative(dirname(link), join(FOLDER, 'node_modules', name))
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    rmSync(link, { force: true })
    symlinkSync(target, link)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) installTestPackages()
