import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import { Failure } from '../operations/failure.ts'
import { renderTable } from '../operations/table.ts'
import type { Cli } from './cli.ts'

/** The secrets that a deployment makes for itself, and their names in the data folder of `npm start`. */
const SECRETS = { KEY_PEPPER: 'keyPepper', ADMIN_TOKEN: 'adminToken' } as const
type SecretName = keyof typeof SECRETS
const NAMES = Object.keys(SECRETS) as SecretName[]

/** `secrets show`: what to keep beside a backup, and what opens the dashboard. */
export function addSecretsCommand(program: Command, cli: Cli): void {
  program
    .command('secrets')
    .description('Secrets that compose and npm start made for themselves.')
    .command('show')
    .argument('[name]', `${NAMES.join(' or ')}: its value alone. Without it: all.`)
    .description('Shows KEY_PEPPER, to be kept beside backups, and ADMIN_TOKEN, for the dashboard.')
    .action((name: string | undefined) => {
      const known = readSecrets(cli.env)
      if (name !== undefined) {
        const value = known[name as SecretName]
        if (value === undefined || !NAMES.includes(name as SecretName))
          throw new Failure(`there is no secret ${name} here: it is ${NAMES.join(' or ')}`)
        return cli.print({ [name]: value }, value)
      }
      if (Object.keys(known).length === 0)
        throw new Failure(
          'neither the environment nor the data folder of npm start has KEY_PEPPER or ADMIN_TOKEN',
        )
      cli.print(known, renderTable([{ heading: 'NAME' }, { heading: 'VALUE' }], Object.entries(known)))
    })
}

function readSecrets(env: Environment): Partial<Record<SecretName, string>> {
  const kept = readDataFolder(env)
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = readVariable(env, name) || kept[SECRETS[name]]
      return typeof value === 'string' && value !== '' ? [[name, value]] : []
    }),
  )
}

/** `secrets.json` of the data folder; empty: there is none. */
function readDataFolder(env: Environment): Readonly<Record<string, unknown>> {
  try {
    return Object(
      JSON.parse(readFileSync(join(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', 'secrets.json'), 'utf8')),
    )
  } catch {
    return {}
  }
}
