// After `npm install`: what a start would have to fetch is fetched while there is a network. Plain JavaScript, and it
// never fails: `npm start` and `npm test` themselves say what is missing, an older Node.js included.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = join(ROOT, 'node_modules')
const OLDEST = 24

const isDependency = ROOT.includes(`${sep}node_modules${sep}`)
const isOld = Number(process.versions.node.split('.')[0]) < OLDEST
if (!isDependency) {
  leaveOutCopies()
  try {
    if (isOld) fetchNode()
    else await unpackRedis()
  } catch (error) {
    const what = isOld ? `Node.js ${OLDEST}` : 'Redis'
    console.log(`${what} was not looked for, npm start will say or do it: ${error}`)
  }
}

/** gpt-tokenizer has its tables five times. We read two of the last ones, and the modules. */
function leaveOutCopies() {
  const folder = join(PACKAGES, 'gpt-tokenizer')
  const copies = ['cjs', 'src'].map((name) => join(folder, name))
  const kept = ['o200k_base.tiktoken', 'cl100k_base.tiktoken']
  const data = join(folder, 'data')
  const tables = existsSync(data) ? readdirSync(data).filter((name) => !kept.includes(name)) : []
  for (const path of [...copies, ...tables.map((name) => join(data, name))])
    rmSync(path, { recursive: true, force: true })
}

/** npm's package of Node has headers of the same size, so only the program is kept. npm's scripts find it first. */
function fetchNode() {
  const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).config.node
  const os = process.platform === 'win32' ? 'win' : process.platform
  const name = `node${os === 'darwin' && process.arch === 'arm64' ? '-bin' : ''}-${os}-${process.arch}`
  const file = os === 'win' ? 'node.exe' : 'node'
  const cache = join(PACKAGES, '.cache', 'tallygate')
  const folder = join(cache, `node-${version}`)
  if (!existsSync(join(folder, file))) {
    mkdirSync(cache, { recursive: true })
    const work = mkdtempSync(join(cache, 'node-'))
    try {
      writeFileSync(join(work, 'package.json'), '{"private":true}')
      const npm = process.env.npm_execpath
      const [program, ...args] = npm === undefined ? ['npm'] : [process.execPath, npm]
      const wanted = [
        'install',
        '--no-save',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
      ]
      execFileSync(program, [...args, ...wanted, `--prefix=${work}`, `${name}@${version}`], {
        cwd: work,
        env: { ...process.env, npm_config_global: 'false', npm_config_local_prefix: work },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      mkdirSync(folder, { recursive: true })
      renameSync(join(work, 'node_modules', name, 'bin', file), join(folder, file))
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  const link = join(PACKAGES, '.bin', file)
  rmSync(link, { force: true })
  symlinkSync(relative(join(PACKAGES, '.bin'), join(folder, file)), link)
  console.log(`Node.js ${version} is beside the project, as it does not run on ${process.version}`)
  // The program that was just fetched reads TypeScript.
  execFileSync(join(folder, file), [fileURLToPath(import.meta.url)], { cwd: ROOT, stdio: 'inherit' })
}

async function unpackRedis() {
  const { unpackRedisAhead } = await import('../src/standalone/servers/redis-program.ts')
  const line = await unpackRedisAhead()
  if (line !== null) console.log(line)
}
