#!/usr/bin/env node
// The package's program. Without a command it starts everything on this machine; `gateway` and `worker` are those
// processes; anything else is the command line. Plain JavaScript, so that an old Node.js can say that it is too old.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const read = (path) => JSON.parse(readFileSync(inPackage(path), 'utf8'))

const oldest = read('package.json').engines.node.replace('>=', '')
if (Number(process.versions.node.split('.')[0]) < Number(oldest)) {
  console.error(
    `tallygate runs on Node.js ${oldest} or newer, and this is ${process.version}: install a newer one, or put npm's package of it before: npx --package=node@${oldest} --package=tallygate tallygate`,
  )
  process.exit(1)
}

const programs = read('bin/programs.json')
const [command = 'start', ...rest] = process.argv.slice(2)
const isProgram = command in programs && command !== 'tallygate'
const { env, flags, file } = programs[isProgram ? command : 'tallygate']
const args = [...flags, inPackage(file), ...(isProgram ? rest : process.argv.slice(2))]
// What Node compiled is kept in the package, as in a checkout; the user's own variables go before.
const environment = { ...env, NODE_COMPILE_CACHE: inPackage(env.NODE_COMPILE_CACHE), ...process.env }

if (['--help', '-h', 'help'].includes(command) && rest.length === 0)
  console.log(`tallygate            everything on this machine; also "tallygate start --stores"
tallygate gateway    the gateway, by the environment
tallygate worker     the worker, by the environment
`)

// The program takes this process's place, so that signals, input and exit code are its own.
if (process.platform !== 'win32') {
  process.removeAllListeners('warning') // execve is said to be experimental
  process.execve(process.execPath, [process.execPath, ...args], environment)
}
process.exitCode = spawnSync(process.execPath, args, { env: environment, stdio: 'inherit' }).status ?? 1
